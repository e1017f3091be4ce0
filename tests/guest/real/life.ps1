# Resources of every type through their whole life: applied, found when broken, repaired, taken back. Loaded by
# real.ps1.

function New-Certificate {
    $subject = @{ DnsName = 'imagegen-real'; CertStoreLocation = 'Cert:\LocalMachine\My' }
    $made = New-SelfSignedCertificate @subject
    Remove-Item -LiteralPath "Cert:\LocalMachine\My\$($made.Thumbprint)"
    $made.RawData
}

# Each case: how the resource is, how it is taken back ($null for what goes with its folder), how it is broken, and
# which laws it shows.
function Get-Case {
    $text = "$script:Root\source\text.bin"
    Write-Text -Path $text -Text 'published bytes'
    $media = Add-Media -Path $text
    Write-Text -Path "$script:Root\content" -Text "one`n"
    $content = Get-FileDigest -Path "$script:Root\content"
    $url = 'https://files.invalid/text.bin'
    Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
    [IO.Compression.ZipFile]::CreateFromDirectory("$script:Root\source", "$script:Root\source.zip")
    $zip = Add-Media -Path "$script:Root\source.zip"
    $pin = @{ url = $url; algorithm = 'sha256' }

    @{ name = 'folder'; laws = @(); type = 'directory'; absent = @{ path = $script:Life; ensure = 'absent' }
        present = @{ path = $script:Life; ensure = 'present'; sddl = $script:FolderAccess }
        drift = {
            $acl = Get-Acl -LiteralPath $script:Life
            $acl.SetSecurityDescriptorSddlForm('O:BAG:SYD:PAI(A;OICI;FA;;;BA)', 'Owner, Group, Access')
            Set-Acl -LiteralPath $script:Life -AclObject $acl
        } }
    @{ name = 'file'; laws = @(); type = 'file'; absent = $null
        present = @{ path = "$script:Life\a.txt"; ensure = 'present'; content = "one`n"; sha256 = $content
            sddl = $script:FileAccess }
        drift = { [IO.File]::AppendAllText("$script:Life\a.txt", 'x') } }
    @{ name = 'artifact'; laws = @(); type = 'artifact'; absent = $null
        present = ($pin + @{ path = "$script:Life\b.bin"; digest = $media })
        drift = { [IO.File]::AppendAllText("$script:Life\b.bin", 'x') } }
    @{ name = 'archive'; laws = @(); type = 'archive'; absent = $null
        present = @{ url = $url; algorithm = 'sha256'; digest = $zip; format = 'zip'
            cache = "$script:Root\cache\a.zip"
            members = @(@{ member = 'text.bin'; path = "$script:Life\c.bin" }) }
        drift = { [IO.File]::Delete("$script:Life\c.bin") } }
    @{ name = 'link'; laws = @('file.link-target', 'file.link-removed-alone'); type = 'symlink'
        absent = @{ path = "$script:Root\link"; ensure = 'absent' }
        present = @{ path = "$script:Root\link"; ensure = 'present'; target = $script:Life }
        drift = { [IO.Directory]::Delete("$script:Root\link", $false) } }
    $values = @(
        @('number', 'Number', 'DWord', 4294967295, 'registry.unsigned'),
        @('long', 'Long', 'QWord', 5, ''),
        @('list', 'List', 'MultiString', @('a'), ''),
        @('binary', 'Binary', 'Binary', '00ff', ''),
        @('expand', 'Expand', 'ExpandString', '%SystemRoot%\x', 'registry.unexpanded'),
        @('default', '', 'String', 'of the key', 'registry.default')
    )
    foreach ($value in $values) {
        $id = @{ key = $script:Key; valueName = $value[1] }
        @{ name = "registry-$($value[0])"; laws = @($value[4] | Where-Object { $_ }); type = 'registryValue'
            absent = ($id + @{ ensure = 'absent' })
            present = ($id + @{ ensure = 'present'; kind = $value[2]; data = $value[3] })
            drift = {
                param($case)
                $named = @('/ve')
                if ($case.present.valueName) { $named = @('/v', $case.present.valueName) }
                $line = @('add', 'HKLM\SOFTWARE\imagegen-real') + $named + @('/t', 'REG_SZ', '/d', 'broken', '/f')
                Invoke-Registry -Arguments $line
            } }
    }
    $id = @{ key = "$script:Key\RC4 128/128"; valueName = 'Enabled' }
    @{ name = 'registry-slash'; laws = @('registry.key'); type = 'registryValue'
        absent = ($id + @{ ensure = 'absent' })
        present = ($id + @{ ensure = 'present'; kind = 'DWord'; data = 0 })
        drift = {
            # reg.exe says whether the key has one level with a slash in its name.
            $place = 'HKLM\SOFTWARE\imagegen-real\RC4 128/128'
            Invoke-Registry -Arguments @('query', $place, '/v', 'Enabled')
            Invoke-Registry -Arguments @('delete', $place, '/v', 'Enabled', '/f')
        } }
    @{ name = 'variable'; laws = @('registry.environment'); type = 'environmentVariable'
        absent = @{ variable = 'IMAGEGEN_REAL'; ensure = 'absent' }
        present = @{ variable = 'IMAGEGEN_REAL'; ensure = 'present'; value = '%SystemRoot%\x' }
        drift = { [Environment]::SetEnvironmentVariable('IMAGEGEN_REAL', 'broken', 'Machine') } }
    @{ name = 'path'; laws = @(); type = 'pathEntry'; absent = @{ entry = $script:Life; ensure = 'absent' }
        present = @{ entry = $script:Life; ensure = 'present' }
        drift = {
            $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
            $item = Get-Item -LiteralPath $key
            $path = $item.GetValue('Path', $null, 'DoNotExpandEnvironmentNames').Replace(";$script:Life", '')
            $value = @{ Name = 'Path'; PropertyType = 'ExpandString'; Value = $path }
            $null = New-ItemProperty -LiteralPath $key @value -Force
        } }
    $actions = @(@{ action = 'restart'; delaySeconds = 5 }, @{ action = 'none'; delaySeconds = 0 })
    @{ name = 'service'; laws = @(); type = 'service'
        absent = @{ serviceName = 'imagegen-real'; ensure = 'absent' }
        present = @{ serviceName = 'imagegen-real'; ensure = 'present'; displayName = 'imagegen real'
            commandLine = '"C:\Program Files\none\none.exe" --flag "a b"'; startType = 'delayed'
            dependsOn = @('RpcSs'); environment = @('A=1'); failureResetSeconds = 900; failureActions = $actions
            failureFlag = $true }
        drift = { Set-Service -Name 'imagegen-real' -StartupType Disabled } }
    @{ name = 'service-plain'; laws = @(); type = 'service'
        absent = @{ serviceName = 'imagegen-real-plain'; ensure = 'absent' }
        present = @{ serviceName = 'imagegen-real-plain'; ensure = 'present'; displayName = 'imagegen real plain'
            commandLine = (Join-Argument -Arguments @($script:Service, 'run', "$script:Root\plain.txt"))
            startType = 'manual'; environment = @(); state = 'running' }
        drift = { Stop-Service -Name 'imagegen-real-plain' } }
    @{ name = 'task'; laws = @(); type = 'scheduledTask'
        absent = @{ taskName = 'imagegen-real\clean'; ensure = 'absent' }
        present = @{ taskName = 'imagegen-real\clean'; ensure = 'present'; trigger = 'daily'; enabled = $true
            program = 'C:\Windows\System32\cmd.exe'; arguments = @('/c', 'exit 0') }
        drift = {
            $null = Disable-ScheduledTask -TaskName 'clean' -TaskPath '\imagegen-real\' -ErrorAction Stop
        } }
    @{ name = 'firewall'; laws = @('firewall.masks'); type = 'firewallRule'
        absent = @{ ruleName = 'imagegen-real'; ensure = 'absent' }
        present = @{ ruleName = 'imagegen-real'; ensure = 'present'; displayName = 'imagegen real'
            direction = 'inbound'; action = 'allow'; protocol = 'TCP'; localPort = @('10250', '30000-32767')
            remoteAddress = @('10.0.0.0/8') }
        drift = { Disable-NetFirewallRule -Name 'imagegen-real' -ErrorAction Stop } }
    @{ name = 'firewall-accounts'; laws = @('firewall.letters'); type = 'firewallRule'
        absent = @{ ruleName = 'imagegen-real-accounts'; ensure = 'absent' }
        present = @{ ruleName = 'imagegen-real-accounts'; ensure = 'present'; displayName = 'imagegen real'
            direction = 'outbound'; action = 'block'; protocol = 'TCP'; remotePort = @('32526', '80')
            remoteAddress = @('192.0.2.1'); exceptAccount = @('S-1-5-18', 'S-1-5-19') }
        drift = { Set-NetFirewallRule -Name 'imagegen-real-accounts' -LocalUser 'Any' -ErrorAction Stop } }
    [byte[]] $bytes = New-Certificate
    [IO.File]::WriteAllBytes("$script:Root\certificate", $bytes)
    $id = @{ store = 'TrustedPublisher'; sha256 = (Get-FileDigest -Path "$script:Root\certificate") }
    $id.content = [Convert]::ToBase64String($bytes)
    @{ name = 'certificate'; laws = @('certificate.store', 'certificate.bytes'); type = 'certificate'
        absent = ($id + @{ ensure = 'absent' })
        present = ($id + @{ ensure = 'present' })
        drift = {
            $found = Get-ChildItem -Path 'Cert:\LocalMachine\TrustedPublisher'
            $found | Where-Object { $_.Subject -eq 'CN=imagegen-real' } | Remove-Item
        } }
    # PowerShell 7 cannot make accounts on every Windows.
    if ("$($PSVersionTable['PSEdition'])" -ne 'Core') {
        $secret = New-Object -TypeName Security.SecureString
        foreach ($letter in "Aa1!$([guid]::NewGuid())".ToCharArray()) { $secret.AppendChar($letter) }
        $null = New-LocalUser -Name 'imagegen-real' -Password $secret
        @{ name = 'account'; laws = @(); type = 'localUser'
            absent = @{ userName = 'imagegen-real'; ensure = 'absent' }
            present = @{ userName = 'imagegen-real'; ensure = 'disabled' }
            drift = { Enable-LocalUser -Name 'imagegen-real' } }
    }
    $marker = "$script:Root\marker"
    @{ name = 'script'; laws = @(); type = 'script'; absent = $null
        present = @{ test = "Test-Path -LiteralPath '$marker'"; expected = 'True'
            set = "[IO.File]::WriteAllText('$marker', 'x')" }
        drift = { [IO.File]::Delete("$script:Root\marker") } }
}

# The whole plan at once. Where that fails, each resource by itself, so that one does not hide the others.
function Install-Case {
    param([object[]] $Cases)
    $all = @($Cases | ForEach-Object { New-Resource -Name $_.name -Type $_.type -Properties $_.present })
    Write-Plan -Resources $all
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 0 -and $run.result.changed -eq $Cases.Count
    Assert-That -Name 'everything is applied' -Holds $holds -Detail $run.text
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 0 -and $run.result.changed -eq 0
    Assert-That -Name 'a second time changes nothing' -Holds $holds -Detail $run.text
    if ($run.code -eq 0) { return @($Cases) }
    foreach ($resource in $all) {
        Write-Plan -Resources @($resource)
        $run = Invoke-Engine -Mode 'apply'
        Assert-That -Name "$($resource.name) is applied" -Holds ($run.code -eq 0) -Detail $run.text
        if ($run.code -eq 0) { $Cases | Where-Object { $_.name -eq $resource.name } }
    }
}

# One resource, broken and repaired. Its laws hold where both do.
function Test-Drift {
    param($Case)
    $null = & $Case.drift $Case
    $run = Invoke-Engine -Mode 'test'
    $found = $run.code -eq 8 -and ($run.differing -join ' ') -eq $Case.name
    Assert-That -Name "the drift of $($Case.name) is found, and no other" -Holds $found -Detail $run.text
    $run = Invoke-Engine -Mode 'apply'
    $repaired = $run.code -eq 0 -and $run.result.changed -eq 1
    Assert-That -Name "$($Case.name) is repaired" -Holds $repaired -Detail $run.text
    foreach ($law in $Case.laws) { Confirm-Law -Law $law -Holds ($found -and $repaired) -Detail $Case.name }
}

function Test-Life {
    param([object[]] $Cases)
    $applied = @(Install-Case -Cases $Cases)
    $all = @($applied | ForEach-Object { New-Resource -Name $_.name -Type $_.type -Properties $_.present })
    Write-Plan -Resources $all
    foreach ($case in $applied) { Invoke-Suite -Name "life of $($case.name)" -Block { Test-Drift -Case $case } }
}

# What was made goes, in the opposite order.
function Remove-Everything {
    param([object[]] $Cases)
    $gone = @($Cases | Where-Object { $null -ne $_.absent })
    [array]::Reverse($gone)
    $all = @($gone | ForEach-Object { New-Resource -Name $_.name -Type $_.type -Properties $_.absent })
    Write-Plan -Resources $all
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 0 -and $run.result.changed -eq $gone.Count
    Assert-That -Name 'everything is taken back' -Holds $holds -Detail $run.text
}

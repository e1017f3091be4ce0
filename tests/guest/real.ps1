<#
.SYNOPSIS
Applies resources with the real engine on a real Windows, breaks each, repairs each, and takes them back.

.DESCRIPTION
For an ordinary Windows machine, elevated. It makes a folder, files, registry values, variables, a service that is
never started, a task, a firewall rule, a link, a certificate and, under Windows PowerShell, an account. It removes
all of them at the end. The files come with the plan, but for one of a server that it starts on loopback.
Exit codes: 0 everything is as expected, 1 something is not.

.PARAMETER Provisioners
The folder with engine and resources.

.EXAMPLE
powershell.exe -NoProfile -ExecutionPolicy Bypass -File tests\guest\real.ps1
#>
[CmdletBinding()]
param([string] $Provisioners)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if (-not $Provisioners) { $Provisioners = "$PSScriptRoot\..\..\provisioners" }
$script:Root = 'C:\imagegen-real'
$script:Work = "$script:Root\work"
$script:Key = 'HKLM:\SOFTWARE\imagegen-real'
$script:Passed = 0
$script:Failed = 0
$script:FolderAccess = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
$script:FileAccess = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    if ($Holds) {
        $script:Passed++
        return
    }
    $script:Failed++
    [Console]::Out.WriteLine("FAILED: $Name")
    [Console]::Out.WriteLine("    $Detail")
}

function Get-FileDigest {
    param([string] $Path)
    $hash = Get-FileHash -LiteralPath $Path -Algorithm SHA256 -ErrorAction Stop
    $hash.Hash.ToLowerInvariant()
}

function Write-Text {
    param([string] $Path, [string] $Text)
    $encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    [IO.File]::WriteAllText($Path, $Text, $encoding)
}

# A file that came with the plan, under its digest; gives the digest.
function Add-Media {
    param([string] $Path)
    $digest = Get-FileDigest -Path $Path
    $null = [IO.Directory]::CreateDirectory("$script:Root\artifacts")
    Copy-Item -LiteralPath $Path -Destination "$script:Root\artifacts\$digest"
    $digest
}

function New-Resource {
    param([string] $Name, [string] $Type, [hashtable] $Properties)
    [ordered]@{
        name = $Name
        step = 'real'
        phase = 'install'
        timeoutSeconds = 120
        type = $Type
        properties = $Properties
    }
}

# Scripts below a folder of provisioners or of a payload, as a plan names them.
function Get-ScriptPath {
    param([string] $Root, [string] $Folder)
    foreach ($item in Get-ChildItem -LiteralPath "$Root\$Folder") {
        $name = "$Folder/$($item.Name)"
        if ($item.PSIsContainer) {
            Get-ScriptPath -Root $Root -Folder $name
        } elseif ($item.Extension -in '.ps1', '.psm1') {
            $name
        }
    }
}

# The plan of some resources beside the engine. Without hosts it allows every host.
function Write-Plan {
    param([object[]] $Resources, [string[]] $Hosts = @())
    $scripts = [ordered]@{}
    foreach ($folder in 'engine', 'node', 'resources') {
        foreach ($name in Get-ScriptPath -Root $script:Root -Folder $folder) {
            $scripts[$name] = Get-FileDigest -Path "$script:Root\$name"
        }
    }
    $plan = [ordered]@{ schema = 'imagegen.dev/guest-plan/v1'; target = 'host'; windows = 'real' }
    $plan.kubernetes = '1.36.0'
    $plan.scripts = $scripts
    if ($Hosts.Count -gt 0) { $plan.allowedHosts = @($Hosts) }
    $plan.resources = @($Resources)
    Write-Text -Path "$script:Root\guest-plan.json" -Text (ConvertTo-Json -InputObject $plan -Depth 8)
}

# One run of the engine: exit code, outcome and text.
function Invoke-Engine {
    param([string] $Mode)
    $lines = @(& "$script:Root\engine\Invoke-Plan.ps1" -Phase 'install' -Mode $Mode 6>&1 | ForEach-Object { "$_" })
    $code = $LASTEXITCODE
    $text = $lines -join "`n"
    $result = $null
    if ($lines.Count -gt 0 -and $lines[-1].StartsWith('{')) { $result = $lines[-1] | ConvertFrom-Json }
    $lines = [regex]::Matches($text, '(?m)\] (?:drifted|failed) (\S+) \(')
    $names = @($lines | ForEach-Object { $_.Groups[1].Value })
    @{ code = $code; text = $text; result = $result; differing = @($names | Sort-Object) }
}

function Invoke-Registry {
    param([string[]] $Arguments)
    $null = & "$env:SystemRoot\System32\reg.exe" @Arguments
    if ($LASTEXITCODE -ne 0) { throw "reg.exe $Arguments exited with $LASTEXITCODE" }
}

function New-Certificate {
    $subject = @{ DnsName = 'imagegen-real'; CertStoreLocation = 'Cert:\LocalMachine\My' }
    $made = New-SelfSignedCertificate @subject
    Remove-Item -LiteralPath "Cert:\LocalMachine\My\$($made.Thumbprint)"
    $made.RawData
}

# Each case: how the resource is, how it is taken back ($null for what goes with its folder), and how it is broken.
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

    @{ name = 'folder'; type = 'directory'; absent = @{ path = $script:Work; ensure = 'absent' }
        present = @{ path = $script:Work; ensure = 'present'; sddl = $script:FolderAccess }
        drift = {
            $acl = Get-Acl -LiteralPath $script:Work
            $acl.SetSecurityDescriptorSddlForm('O:BAG:SYD:PAI(A;OICI;FA;;;BA)', 'Owner, Group, Access')
            Set-Acl -LiteralPath $script:Work -AclObject $acl
        } }
    @{ name = 'file'; type = 'file'; absent = $null
        present = @{ path = "$script:Work\a.txt"; ensure = 'present'; content = "one`n"; sha256 = $content
            sddl = $script:FileAccess }
        drift = { [IO.File]::AppendAllText("$script:Work\a.txt", 'x') } }
    @{ name = 'artifact'; type = 'artifact'; absent = $null
        present = ($pin + @{ path = "$script:Work\b.bin"; digest = $media })
        drift = { [IO.File]::AppendAllText("$script:Work\b.bin", 'x') } }
    @{ name = 'archive'; type = 'archive'; absent = $null
        present = @{ url = $url; algorithm = 'sha256'; digest = $zip; format = 'zip'
            cache = "$script:Root\cache\a.zip"
            members = @(@{ member = 'text.bin'; path = "$script:Work\c.bin" }) }
        drift = { [IO.File]::Delete("$script:Work\c.bin") } }
    @{ name = 'link'; type = 'symlink'; absent = @{ path = "$script:Root\link"; ensure = 'absent' }
        present = @{ path = "$script:Root\link"; ensure = 'present'; target = $script:Work }
        drift = { [IO.Directory]::Delete("$script:Root\link", $false) } }
    $values = @(
        @('number', 'Number', 'DWord', 4294967295),
        @('long', 'Long', 'QWord', 5),
        @('list', 'List', 'MultiString', @('a')),
        @('binary', 'Binary', 'Binary', '00ff'),
        @('expand', 'Expand', 'ExpandString', '%SystemRoot%\x'),
        @('default', '', 'String', 'of the key')
    )
    foreach ($value in $values) {
        $id = @{ key = $script:Key; valueName = $value[1] }
        @{ name = "registry-$($value[0])"; type = 'registryValue'; absent = ($id + @{ ensure = 'absent' })
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
    @{ name = 'registry-slash'; type = 'registryValue'; absent = ($id + @{ ensure = 'absent' })
        present = ($id + @{ ensure = 'present'; kind = 'DWord'; data = 0 })
        drift = {
            # reg.exe says whether the key has one level with a slash in its name.
            $place = 'HKLM\SOFTWARE\imagegen-real\RC4 128/128'
            Invoke-Registry -Arguments @('query', $place, '/v', 'Enabled')
            Invoke-Registry -Arguments @('delete', $place, '/v', 'Enabled', '/f')
        } }
    @{ name = 'variable'; type = 'environmentVariable'
        absent = @{ variable = 'IMAGEGEN_REAL'; ensure = 'absent' }
        present = @{ variable = 'IMAGEGEN_REAL'; ensure = 'present'; value = '%SystemRoot%\x' }
        drift = { [Environment]::SetEnvironmentVariable('IMAGEGEN_REAL', 'broken', 'Machine') } }
    @{ name = 'path'; type = 'pathEntry'; absent = @{ entry = $script:Work; ensure = 'absent' }
        present = @{ entry = $script:Work; ensure = 'present' }
        drift = {
            $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
            $item = Get-Item -LiteralPath $key
            $path = $item.GetValue('Path', $null, 'DoNotExpandEnvironmentNames').Replace(";$script:Work", '')
            $value = @{ Name = 'Path'; PropertyType = 'ExpandString'; Value = $path }
            $null = New-ItemProperty -LiteralPath $key @value -Force
        } }
    $actions = @(@{ action = 'restart'; delaySeconds = 5 }, @{ action = 'none'; delaySeconds = 0 })
    @{ name = 'service'; type = 'service'; absent = @{ serviceName = 'imagegen-real'; ensure = 'absent' }
        present = @{ serviceName = 'imagegen-real'; ensure = 'present'; displayName = 'imagegen real'
            commandLine = '"C:\Program Files\none\none.exe" --flag "a b"'; startType = 'delayed'
            dependsOn = @('RpcSs'); environment = @('A=1'); failureResetSeconds = 900; failureActions = $actions
            failureFlag = $true }
        drift = { Set-Service -Name 'imagegen-real' -StartupType Disabled } }
    @{ name = 'task'; type = 'scheduledTask'; absent = @{ taskName = 'imagegen-real\clean'; ensure = 'absent' }
        present = @{ taskName = 'imagegen-real\clean'; ensure = 'present'; trigger = 'daily'; enabled = $true
            program = 'C:\Windows\System32\cmd.exe'; arguments = @('/c', 'exit 0') }
        drift = {
            $null = Disable-ScheduledTask -TaskName 'clean' -TaskPath '\imagegen-real\' -ErrorAction Stop
        } }
    @{ name = 'firewall'; type = 'firewallRule'; absent = @{ ruleName = 'imagegen-real'; ensure = 'absent' }
        present = @{ ruleName = 'imagegen-real'; ensure = 'present'; displayName = 'imagegen real'
            direction = 'inbound'; action = 'allow'; protocol = 'TCP'; localPort = @('10250', '30000-32767')
            remoteAddress = @('10.0.0.0/8') }
        drift = { Disable-NetFirewallRule -Name 'imagegen-real' -ErrorAction Stop } }
    @{ name = 'firewall-accounts'; type = 'firewallRule'
        absent = @{ ruleName = 'imagegen-real-accounts'; ensure = 'absent' }
        present = @{ ruleName = 'imagegen-real-accounts'; ensure = 'present'; displayName = 'imagegen real'
            direction = 'outbound'; action = 'block'; protocol = 'TCP'; remotePort = @('32526', '80')
            remoteAddress = @('192.0.2.1'); exceptAccount = @('S-1-5-18', 'S-1-5-19') }
        drift = { Set-NetFirewallRule -Name 'imagegen-real-accounts' -LocalUser 'Any' -ErrorAction Stop } }
    [byte[]] $bytes = New-Certificate
    [IO.File]::WriteAllBytes("$script:Root\certificate", $bytes)
    $id = @{ store = 'TrustedPublisher'; sha256 = (Get-FileDigest -Path "$script:Root\certificate") }
    $id.content = [Convert]::ToBase64String($bytes)
    @{ name = 'certificate'; type = 'certificate'; absent = ($id + @{ ensure = 'absent' })
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
        @{ name = 'account'; type = 'localUser'; absent = @{ userName = 'imagegen-real'; ensure = 'absent' }
            present = @{ userName = 'imagegen-real'; ensure = 'disabled' }
            drift = { Enable-LocalUser -Name 'imagegen-real' } }
    }
    $marker = "$script:Root\marker"
    @{ name = 'script'; type = 'script'; absent = $null
        present = @{ test = "Test-Path -LiteralPath '$marker'"; expected = 'True'
            set = "[IO.File]::WriteAllText('$marker', 'x')" }
        drift = { [IO.File]::Delete("$script:Root\marker") } }
}

function Test-Life {
    param([object[]] $Cases)
    $all = @($Cases | ForEach-Object { New-Resource -Name $_.name -Type $_.type -Properties $_.present })
    Write-Plan -Resources $all
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 0 -and $run.result.changed -eq $Cases.Count
    Assert-That -Name 'everything is applied' -Holds $holds -Detail $run.text
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 0 -and $run.result.changed -eq 0
    Assert-That -Name 'a second time changes nothing' -Holds $holds -Detail $run.text
    foreach ($case in $Cases) {
        $null = & $case.drift $case
        $run = Invoke-Engine -Mode 'test'
        $holds = $run.code -eq 8 -and ($run.differing -join ' ') -eq $case.name
        Assert-That -Name "the drift of $($case.name) is found, and no other" -Holds $holds -Detail $run.text
        $run = Invoke-Engine -Mode 'apply'
        $holds = $run.code -eq 0 -and $run.result.changed -eq 1
        Assert-That -Name "$($case.name) is repaired" -Holds $holds -Detail $run.text
    }
}

# A file that is open, a folder in the place of a file, a script that fails: each says why.
function Test-Failure {
    param([object[]] $Cases)
    $path = "$script:Work\a.txt"
    $file = $Cases | Where-Object { $_.name -eq 'file' }
    Write-Plan -Resources @((New-Resource -Name 'file' -Type 'file' -Properties $file.present))
    [IO.File]::AppendAllText($path, 'x')
    $open = [IO.File]::Open($path, 'Open', 'Read', 'Read')
    try { $run = Invoke-Engine -Mode 'apply' } finally { $open.Dispose() }
    $holds = $run.code -eq 1 -and $run.text.Contains('cannot be replaced') -and [IO.File]::Exists($path)
    Assert-That -Name 'an open file is named and stays' -Holds $holds -Detail $run.text
    [IO.File]::Delete($path)
    $null = [IO.Directory]::CreateDirectory($path)
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 1 -and $run.text.Contains('is a folder')
    Assert-That -Name 'a folder in the place of a file is named' -Holds $holds -Detail $run.text
    [IO.Directory]::Delete($path)
    $broken = @{ test = "'no'"; expected = 'yes'; set = "throw 'for this reason'" }
    Write-Plan -Resources @((New-Resource -Name 'script' -Type 'script' -Properties $broken))
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 1 -and $run.text.Contains('for this reason')
    Assert-That -Name 'the reason of a script is told' -Holds $holds -Detail $run.text
    $kept = [IO.File]::ReadAllText("$script:Root\state\errors.log")
    Assert-That -Name 'the reason is kept' -Holds $kept.Contains('for this reason') -Detail $kept
}

# A server on loopback: /there gives a text, and /NAME leads to it by the host NAME.
function Start-Server {
    param([int] $Port)
    $listener = New-Object -TypeName Net.HttpListener
    foreach ($name in '127.0.0.1', 'localhost') { $listener.Prefixes.Add("http://${name}:$Port/") }
    $listener.Start()
    $server = [PowerShell]::Create().AddScript({
        param($listener, $port)
        while ($true) {
            $context = $listener.GetContext()
            $name = $context.Request.Url.AbsolutePath.Trim('/')
            if ($name -eq 'there') {
                $bytes = [Text.Encoding]::UTF8.GetBytes('bytes behind a redirect')
                $context.Response.ContentLength64 = $bytes.Length
                $context.Response.OutputStream.Write($bytes, 0, $bytes.Length)
            } else {
                $context.Response.Redirect("http://${name}:$port/there")
            }
            $context.Response.Close()
        }
    }).AddArgument($listener).AddArgument($Port)
    $null = $server.BeginInvoke()
    $listener
}

# The real curl.exe tells of redirects; the engine goes to hosts of the plan alone.
function Test-Redirect {
    $probe = New-Object -TypeName Net.Sockets.TcpListener -ArgumentList ([Net.IPAddress]::Loopback), 0
    $probe.Start()
    $port = $probe.LocalEndpoint.Port
    $null = $probe.Stop()
    $path = "$script:Work\d.bin"
    Write-Text -Path "$script:Root\expected" -Text 'bytes behind a redirect'
    $file = @{ path = $path; algorithm = 'sha256'; digest = (Get-FileDigest -Path "$script:Root\expected") }
    $listener = Start-Server -Port $port
    try {
        foreach ($name in '127.0.0.1', 'localhost') {
            $file.url = "http://127.0.0.1:$port/$name"
            $resource = New-Resource -Name 'redirected' -Type 'artifact' -Properties $file
            Write-Plan -Resources @($resource) -Hosts '127.0.0.1'
            $run = Invoke-Engine -Mode 'apply'
            $holds = $run.code -eq 0 -and [IO.File]::Exists($path)
            if ($name -eq 'localhost') {
                $text = 'redirects to localhost, which allowedHosts of the plan does not allow'
                $holds = $run.code -eq 1 -and $run.text.Contains($text) -and -not [IO.File]::Exists($path)
            }
            Assert-That -Name "a redirect to $name" -Holds $holds -Detail $run.text
            [IO.File]::Delete($path)
        }
    } finally {
        $listener.Stop()
    }
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

# `powershell.exe -File`, with no parameter but the phase: its defaults are those of the plan beside it.
function Test-Start {
    $program = "$env:SystemRoot\System32\WindowsPowerShell\v1.0\powershell.exe"
    $words = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File')
    $lines = @(& $program @words "$script:Root\engine\Invoke-Plan.ps1" -Phase 'install' -Mode 'test')
    Assert-That -Name 'the engine starts with -File' -Holds ($LASTEXITCODE -eq 0) -Detail ($lines -join "`n")
}

if (Test-Path -LiteralPath $script:Root) { throw "$script:Root is there already: remove it first" }
try {
    foreach ($folder in 'engine', 'node', 'resources') {
        foreach ($name in Get-ScriptPath -Root $Provisioners -Folder $folder) {
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$script:Root\$name"))
            Copy-Item -LiteralPath "$Provisioners\$name" -Destination "$script:Root\$name"
        }
    }
    $cases = @(Get-Case)
    Test-Life -Cases $cases
    Test-Start
    Test-Failure -Cases $cases
    Test-Redirect
    Remove-Everything -Cases $cases
    Invoke-Registry -Arguments @('delete', 'HKLM\SOFTWARE\imagegen-real', '/f')
} finally {
    if (Test-Path -LiteralPath $script:Root) { Remove-Item -LiteralPath $script:Root -Recurse -Force }
}
Write-Output -InputObject "$script:Passed passed, $script:Failed failed"
exit [int]($script:Failed -gt 0)

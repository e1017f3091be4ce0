# The machine as a whole: programs, network, WinRM, accounts, logs, Install.ps1. Loaded by real.ps1.

# Words by which Windows tells programs, and by which cmd does.
function Test-Process {
    $shell = "$env:SystemRoot\System32\cmd.exe"
    $words = @('a b', '', 'say "hello"', 'c:\x\', '\\s\a b\')
    $text = '$args | ForEach-Object { "[$_]" }'
    Write-Text -Path "$script:Work\words.ps1" -Text $text
    $line = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', "$script:Work\words.ps1")
    $ran = Invoke-Native -Program (Get-PowerShellPath) -Arguments ($line + $words) -Accept @()
    $found = $ran.stdout.Trim() -replace "`r", ''
    $wanted = @($words | ForEach-Object { "[$_]" }) -join "`n"
    Confirm-Law -Law 'process.words' -Holds ($found -ceq $wanted) -Detail $found
    $ran = Invoke-Native -Program $shell -Arguments @('/c', 'echo', 'a & b') -Accept @()
    Confirm-Law -Law 'process.cmd-words' -Holds ($ran.stdout.Contains('"a & b"')) -Detail $ran.stdout

    $script = "$script:Work\code.cmd"
    $scripts = @{
        'process.negative-code' = @('cmd.exe /c exit -196608', 'if errorlevel 1 echo at least 1',
            'if not %errorlevel%==0 echo as it should')
        'process.cmd-or' = @('cmd.exe /c exit 0 || echo not this', 'cmd.exe /c exit 8 || echo as it should')
        'process.cmd-if' = @('if not 1==0 echo as it should /id')
    }
    foreach ($law in 'process.negative-code', 'process.cmd-or', 'process.cmd-if') {
        $text = (@('@echo off') + $scripts[$law] + @('')) -join "`r`n"
        [IO.File]::WriteAllText($script, $text, [Text.Encoding]::ASCII)
        $ran = Invoke-Native -Program $shell -Arguments @('/c', $script) -Accept @()
        $found = $ran.stdout.Trim()
        Confirm-Law -Law $law -Holds ($found -cmatch '^as it should( /id)?$') -Detail $found
    }

    $native = Start-Native -Program $shell -ArgumentLine '/c ping.exe -n 60 127.0.0.1'
    $null = Wait-Until -Seconds 5 -Block { @(Get-Process -Name 'ping' -ErrorAction SilentlyContinue).Count -gt 0 }
    Stop-ProcessTree -Process $native.process
    $gone = @(Get-Process -Name 'ping' -ErrorAction SilentlyContinue).Count -eq 0
    Confirm-Law -Law 'process.tree' -Holds ($native.process.HasExited -and $gone) -Detail 'ping.exe'
    $program = "$env:SystemRoot\System32\msiexec.exe"
    $line = "/i `"$script:Work\none.msi`" /qn /norestart"
    $ran = Invoke-Native -Program $program -ArgumentLine $line -Accept @()
    Confirm-Law -Law 'process.msi-absent' -Holds ($ran.exitCode -eq 1619) -Detail $ran.exitCode
}

# Programs that get an input, outlive their session or have a policy.
function Test-Shell {
    $program = "$env:SystemRoot\System32\sort.exe"
    $ran = Invoke-NetworkProgram -Program $program -Text "b`r`na`r`n" -Environment @{ CNI_COMMAND = 'ADD' }
    $found = $ran.stdout.Trim() -replace "`r", ''
    Confirm-Law -Law 'process.network-input' -Holds ($found -ceq "a`nb") -Detail $found
    $text = '"$($PSVersionTable.PSVersion)"'
    $told = "$(Invoke-ScriptText -Text $text)".Trim()
    Confirm-Law -Law 'process.shell-path' -Holds $told.StartsWith('5.1.') -Detail $told
    $policy = Get-ChildPolicy
    Confirm-Law -Law 'process.policy' -Holds ($policy -in 'AllSigned', 'Bypass') -Detail $policy
}

# What is only read.
function Test-Machine {
    $os = Get-OsBuild
    $detail = "$($os.build).$($os.revision)"
    Confirm-Law -Law 'machine.build' -Holds ($os.build -ge 17763 -and $os.revision -gt 0) -Detail $detail
    $plan = Get-PowerPlan
    Set-PowerPlan -Plan $plan
    Confirm-Law -Law 'machine.power' -Holds ($plan -match '^[0-9a-f-]{36}$') -Detail $plan
    $free = Get-FreeSpace
    Confirm-Law -Law 'machine.space' -Holds ($free -gt 1073741824) -Detail $free
    $obstacle = "$(Get-ShellObstacle)"
    $holds = ($obstacle -ne '') -eq ("$($PSVersionTable['PSEdition'])" -eq 'Core')
    Confirm-Law -Law 'machine.shell' -Holds $holds -Detail $obstacle
    $due = Test-PendingRestart
    Confirm-Law -Law 'feature.restart-marks' -Holds ($due -is [bool]) -Detail $due
    Confirm-Refusal -Law 'feature.unknown' -Block { Test-Feature -Name 'No-Such-Feature' }
    $listed = Test-Hotfix -Kb 'KB1'
    Confirm-Law -Law 'update.listed' -Holds (-not $listed) -Detail $listed
    $null = Get-DefenderPreference
    $folder = "$script:Root\excluded"
    Set-DefenderExclusion -Kind 'path' -Value $folder -Present $true
    $found = @(Get-DefenderExclusion -Kind 'path')
    Set-DefenderExclusion -Kind 'path' -Value $folder -Present $false
    foreach ($law in 'defender.late', 'defender.exclusions') {
        Confirm-Law -Law $law -Holds ($found -contains $folder) -Detail ($found -join ', ')
    }
}

function Test-Network {
    foreach ($protocol in 'tcp', 'udp') {
        $range = Get-DynamicPort -Protocol $protocol
        $told = "$($range.start) $($range.count)"
        Set-DynamicPort -Protocol $protocol -Start $range.start -Count $range.count
        $holds = $range.start -gt 1024 -and $range.count -ge 255
        Confirm-Law -Law 'network.dynamic' -Holds $holds -Detail $told
    }
    Add-ExcludedPort -Protocol 'udp' -Start 65330 -Count 1
    try {
        $found = @(Get-ExcludedPort -Protocol 'udp' | Where-Object { $_.start -eq 65330 -and $_.count -eq 1 })
        Confirm-Law -Law 'network.excluded-list' -Holds ($found.Count -eq 1) -Detail $found
        Confirm-Refusal -Law 'network.excluded-once' -Block {
            Add-ExcludedPort -Protocol 'udp' -Start 65330 -Count 1
        }
    } finally {
        $line = 'int ipv4 delete excludedportrange protocol=udp startport=65330 numberofports=1 store=persistent'
        $null = Invoke-Native -Program "$env:SystemRoot\System32\netsh.exe" -ArgumentLine $line -Accept @()
    }
    $card = Get-NetworkCard -Address '127.0.0.1'
    $found = @(Get-CardAddress | ForEach-Object { $_.addresses } | Where-Object { $_ -notlike '169.254.*' })
    $holds = $card.length -eq 8 -and (Test-NetworkAddress -Address '127.0.0.1') -and $found.Count -gt 0
    Confirm-Law -Law 'network.address' -Holds $holds -Detail $card.name
    Confirm-Refusal -Law 'network.absent-address' -Block { Enable-Forwarding -Address '192.0.2.77' }
    $first = Add-NativeClass -Name 'Twice' -Text 'public static int One() { return 1; }'
    $second = Add-NativeClass -Name 'Twice' -Text 'public static int Two() { return 2; }'
    $sum = $first::One() + $second::Two()
    Confirm-Law -Law 'network.add-type-twice' -Holds ($sum -eq 3) -Detail $sum
    $kept = $env:LIB
    $env:LIB = 'C:\no\such\folder'
    $message = ''
    try {
        $null = Invoke-HostNetwork -Method 'GET' -Path '/networks/'
    } catch {
        $message = "$($_.Exception.Message)"
    } finally {
        $env:LIB = $kept
    }
    # Without the feature Containers the library is there and its service is not.
    Confirm-Law -Law 'network.add-type-lib' -Holds ($message -cnotmatch 'CS\d{4}|LIB') -Detail $message
    $body = @{ Method = 'DELETE'; Path = '/networks/00000000-0000-0000-0000-000000000000' }
    Confirm-Refusal -Law 'network.absent-remove' -Block { Invoke-HostNetwork @body }
}

function Test-Firewall {
    $name = 'imagegen-real-laws'
    $rule = @{ DisplayName = 'imagegen real'; Direction = 'Inbound'; Action = 'Allow'; Protocol = 'TCP' }
    $rule.LocalPort = @('10250')
    New-FirewallRule -Name $name -Properties $rule
    try {
        Confirm-Refusal -Law 'firewall.made-once' -Block { New-FirewallRule -Name $name -Properties $rule }
    } finally {
        Remove-FirewallRule -Name $name
    }
    Confirm-Refusal -Law 'firewall.absent-remove' -Block { Remove-FirewallRule -Name $name }
}

# The settings as they are, set again while each network is Public, as a clone's first one is.
function Test-Winrm {
    $profiles = @(Get-NetConnectionProfile -ErrorAction Stop)
    $service = Get-ServiceConfig -Name 'WinRM'
    # Before a change, which is to find it running.
    Wait-ServiceState -Name 'WinRM' -State 'running'
    foreach ($card in $profiles) {
        Set-NetConnectionProfile -InterfaceIndex $card.InterfaceIndex -NetworkCategory Public -ErrorAction Stop
    }
    try {
        foreach ($setting in 'Service\AllowUnencrypted', 'Service\Auth\Basic') {
            $before = Get-WinrmSetting -Setting $setting
            $message = ''
            try {
                Set-WinrmSetting -Setting $setting -Value 'false'
            } catch {
                $message = "$($_.Exception.Message)"
            }
            Confirm-Law -Law 'winrm.public-network' -Holds ($message -eq '') -Detail "${setting}: $message"
            $found = Get-WinrmSetting -Setting $setting
            $detail = "${setting}: $before, $found"
            Confirm-Law -Law 'winrm.setting-names' -Holds ($found -eq 'false') -Detail $detail
        }
        Wait-ServiceState -Name 'WinRM' -State 'stopped'
        $found = Get-WinrmSetting -Setting 'Service\Auth\Basic'
        Confirm-Law -Law 'winrm.stopped-drive' -Holds ($found -eq 'false') -Detail $found
    } finally {
        Wait-ServiceState -Name 'WinRM' -State $service.state
        foreach ($card in $profiles) {
            $before = @{ InterfaceIndex = $card.InterfaceIndex; NetworkCategory = "$($card.NetworkCategory)" }
            Set-NetConnectionProfile @before -ErrorAction Stop
        }
    }
    $key = Open-RegistryKey -Key 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener\*+HTTP'
    $names = @()
    if ($null -ne $key) { $names = @($key.GetValueNames()) }
    $holds = $names -notcontains 'certThumbprint'
    Confirm-Law -Law 'winrm.listener-registry' -Holds $holds -Detail ($names -join ', ')
}

# What laws.json says of Windows, by the names of these cases: the simulation itself. Loaded by run.ps1.

# The simulation itself: what tests/guest/laws.json says of Windows, by the names of these cases.
function Test-Fact {
    param([string] $Source)
    $world = New-World -Source $Source
    $folder = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    $file = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'
    [IO.File]::WriteAllText("$world/C/a.txt", 'x')
    $null = [IO.Directory]::CreateDirectory("$world/C/a")
    Set-Sddl -Path 'C:\a.txt' -Sddl $folder
    $found = Get-Sddl -Path 'C:\a.txt'
    Assert-That -Name 'entries of a file have no inheritance flags' -Holds ($found -ceq $file) -Detail $found
    Set-Sddl -Path 'C:\a' -Sddl 'O:BAG:SYD:P(A;CIOI;FA;;;BA)(A;CIOI;FA;;;S-1-5-18)(A;OICI;FRFX;;;BU)'
    $found = Get-Sddl -Path 'C:\a'
    $wanted = "$folder(A;OICI;0x1200a9;;;BU)"
    Assert-That -Name 'an access list is sorted and shortened' -Holds ($found -ceq $wanted) -Detail $found
    [IO.File]::WriteAllText("$world/C/a.txt.partial", 'y')
    Move-File -From "$world/C/a.txt.partial" -To "$world/C/a.txt"
    $found = Get-Sddl -Path 'C:\a.txt'
    Assert-That -Name 'a file that is moved into place inherits' -Holds ($found -cne $file) -Detail $found
    Assert-Throw -Name 'rights of nothing cannot be set' -Block { Set-Sddl -Path 'C:\none' -Sddl $folder }
    Assert-Throw -Name 'a link needs its target' -Block { New-Link -Path 'C:\link' -Target 'C:\none' }
    $key = 'HKLM:\SOFTWARE\Test'
    Assert-Throw -Name 'a value that is not there cannot be removed' -Block {
        Remove-RegistryValue -Key $key -Name 'x'
    }
    $value = @{ Key = $key; Name = 'x'; Kind = 'DWord'; Data = 4294967296 }
    Assert-Throw -Name 'a number has 32 bits' -Block { Set-RegistryValue @value }
    New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
    Assert-Throw -Name 'a service is made once' -Block { New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe' }
    New-ServiceEntry -Name 'two' -CommandLine 'C:\two.exe'
    Set-ServiceConfig -Name 'two' -Change @{ dependsOn = @('one') }
    Request-ServiceState -Name 'two' -State 'running'
    $one = Get-ServiceConfig -Name 'one'
    Assert-That -Name 'a service starts what it depends on' -Holds ($one.state -eq 'running')
    Request-ServiceState -Name 'one' -State 'stopped'
    $two = Get-ServiceConfig -Name 'two'
    Assert-That -Name 'a service stops what depends on it' -Holds ($two.state -eq 'stopped')
    Set-ServiceStart -Name 'one' -StartType 'disabled'
    Assert-Throw -Name 'a disabled service does not start' -Block {
        Request-ServiceState -Name 'one' -State 'running'
    }
    New-FirewallRule -Name 'rule' -Properties @{ remoteAddress = @('10.1.16.0/20', '10.0.0.1') }
    $rule = Get-FirewallRule -Name 'rule'
    $found = $rule.remoteAddress -join ' '
    $holds = $found -ceq '10.1.16.0/255.255.240.0 10.0.0.1'
    Assert-That -Name 'networks come back with a mask' -Holds $holds -Detail $found
    New-FirewallRule -Name 'except' -Properties @{ localUser = 'O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)' }
    $rule = Get-FirewallRule -Name 'except'
    $found = $rule.localUser
    $holds = $found -ceq 'O:LSD:(D;;CC;;;SY)(A;;CC;;;WD)'
    Assert-That -Name 'accounts of a rule come back as letters' -Holds $holds -Detail $found
    Assert-Throw -Name 'a rule is made once' -Block { New-FirewallRule -Name 'rule' -Properties @{} }
    Assert-Throw -Name 'a task that is not there cannot be removed' -Block { Remove-Task -Name 'none' }
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    Assert-Throw -Name 'a pending restart stops features' -Block {
        Set-Feature -Name 'Containers' -Installed $true
    }
    Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    $binary = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActions'
    $found = ConvertFrom-FailureAction -Hex $binary.data
    $told = "$($found.resetSeconds) $($found.actions[0].action) $($found.actions[0].delaySeconds)"
    $holds = $told -eq '900 restart 60'
    Assert-That -Name 'recovery actions are bytes of the registry' -Holds $holds -Detail $told
    Set-ServiceFailureFlag -Name 'one' -Flag $true
    $flag = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActionsOnNonCrashFailures'
    $holds = $flag.kind -eq 'DWord' -and $flag.data -eq 1
    Assert-That -Name 'an error code is a failure where the flag is set' -Holds $holds -Detail $flag
    $digest = "sha256:$('d' * 64)"
    $arguments = @('--config', 'C:\k\crictl.yaml', 'pull', "r.example/x:1@$digest")
    $null = Invoke-Program -Program 'C:\k\crictl.exe' -Arguments $arguments
    $found = Get-Simulation -Area 'images' -Name "r.example/x@$digest"
    $tagged = Get-Simulation -Area 'images' -Name 'r.example/x:1'
    $holds = $null -ne $found -and $null -eq $tagged
    Assert-That -Name 'a pull by digest keeps no tag' -Holds $holds -Detail $tagged
    $arguments = @('-n', 'k8s.io', 'images', 'tag', '--force', "r.example/none@$digest", 'r.example/none:1')
    $tagged = Invoke-Program -Program 'C:\k\ctr.exe' -Arguments $arguments
    Assert-That -Name 'a name that is not there cannot be tagged' -Holds ($tagged.exitCode -ne 0)
    $nat = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body '{"Name":"nat","Type":"NAT"}'
    $holds = $nat.Subnets[0].GatewayAddress -eq '172.20.0.1'
    Assert-That -Name 'Windows chooses the addresses of a nat network' -Holds $holds -Detail $nat
    Set-Simulation -Area 'urls' -Name 'https://a.example/x' -Value 'redirect https://b.example/y?z=1'
    $command = Get-DownloadCommand -Url 'https://a.example/x' -Path "$world/C/moved"
    $native = Start-Native -Program $command.program -ArgumentLine (Join-Argument -Arguments $command.arguments)
    $told = $native.output.Result
    if (-not $native.process.WaitForExit(10000)) { throw 'the program of a download does not end' }
    $body = [IO.File]::Exists("$world/C/moved")
    $holds = $native.process.ExitCode -eq 0 -and $body -and $told -ceq 'https://b.example/y?z=1'
    Assert-That -Name 'curl tells where a redirect leads and ends' -Holds $holds -Detail $told
}

# What Windows refuses: the simulation is no kinder.
function Test-RefusedFact {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'files' -Name 'open.txt' -Value 'locked'
    [IO.File]::WriteAllText("$world/C/open.txt", 'old')
    [IO.File]::WriteAllText("$world/C/open.txt.partial", 'new')
    Assert-Throw -Name 'a file that another program has open is not replaced' -Block {
        Move-File -From "$world/C/open.txt.partial" -To "$world/C/open.txt"
    }
    Assert-Throw -Name 'a link that is not there cannot be removed' -Block { Remove-Link -Path 'C:\none' }
    Assert-Throw -Name 'a service that is not there cannot be removed' -Block { Remove-ServiceEntry -Name 'none' }
    Assert-Throw -Name 'a service that is not there cannot be started' -Block {
        Request-ServiceState -Name 'none' -State 'running'
    }
    Assert-Throw -Name 'a rule that is not there cannot be removed' -Block { Remove-FirewallRule -Name 'none' }
    Add-ExcludedPort -Protocol 'UDP' -Start 500 -Count 2
    Assert-Throw -Name 'a port is excluded once' -Block {
        Add-ExcludedPort -Protocol 'UDP' -Start 501 -Count 1
    }
    Assert-Throw -Name 'a listener is made once' -Block { New-WinrmListener -Transport 'HTTPS' }
    Assert-Throw -Name 'an account that is not there has no state' -Block {
        Set-UserState -Name 'none' -State 'disabled'
    }
    Assert-Throw -Name 'a task that is not there cannot be started' -Block { Start-Task -Name 'none' }
    Assert-Throw -Name 'a task that is not there cannot be stopped' -Block {
        Stop-Task -Name 'none' -Program 'C:\x.exe'
    }
    Assert-Throw -Name 'an address that no card has forwards nothing' -Block {
        Enable-Forwarding -Address '10.9.9.9'
    }
    Assert-Throw -Name 'a network that is not there cannot be removed' -Block {
        Invoke-HostNetwork -Method 'DELETE' -Path '/networks/none'
    }
    $body = '{"Name":"e","IPAddress":"10.9.0.2"}'
    $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints' -Body $body
    $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}'
    Assert-Throw -Name 'an end is attached once' -Block {
        Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}'
    }
    Set-Simulation -Area 'os' -Name 'hidesExclusions' -Value 'yes'
    Set-DefenderExclusion -Kind 'path' -Value 'C:\hidden' -Present $true
    $found = @(Get-DefenderExclusion -Kind 'path')
    $holds = $found.Count -eq 1 -and $found[0].StartsWith('N/A:')
    Assert-That -Name 'exclusions that a policy hides are not listed' -Holds $holds -Detail $found
    $policy = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender'; Name = 'DisableAntiSpyware' }
    Set-RegistryValue @policy -Kind 'DWord' -Data 1
    Assert-Throw -Name 'a Defender that a policy turned off answers nothing' -Block {
        Get-DefenderExclusion -Kind 'path'
    }
    Remove-RegistryValue @policy
    Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
    Assert-Throw -Name 'without Defender there is nothing to ask' -Block { Get-DefenderExclusion -Kind 'path' }
}

# What shows itself later: after a restart, after a minute, after the image was generalised.
function Test-LaterFact {
    param([string] $Source)
    $world = New-World -Source $Source
    $due = Set-Feature -Name 'Later' -Installed $true
    $before = Test-Feature -Name 'Later'
    Restart-World -World $world
    $holds = $due -and -not $before -and (Test-Feature -Name 'Later')
    Assert-That -Name 'a feature is there after the restart that it asks for' -Holds $holds
    New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
    Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    Set-ServiceConfig -Name 'one' -Change @{ stopsWithError = $true }
    $found = @(foreach ($start in 'manual', 'disabled') {
        Set-ServiceStart -Name 'one' -StartType 'manual'
        foreach ($state in 'running', 'running', 'stopped') { Request-ServiceState -Name 'one' -State $state }
        Set-ServiceStart -Name 'one' -StartType $start
        Step-Simulation -Moment 'minute'
        $one = Get-ServiceConfig -Name 'one'
        $one.state
    })
    $holds = $found[0] -eq 'running'
    Assert-That -Name 'recovery actions start a service that stopped with an error' -Holds $holds -Detail $found
    $holds = $found[1] -eq 'stopped'
    Assert-That -Name 'recovery actions start no service that is disabled' -Holds $holds -Detail $found
    Set-Simulation -Area 'users' -Name 'customer' -Value 'present'
    Set-Simulation -Area 'administrators' -Name 'customer' -Value '500'
    $holds = (Test-BuiltInAdministrator -Name 'customer') -and -not (Test-BuiltInAdministrator -Name 'packer')
    Assert-That -Name 'the built-in administrator is one by its identifier' -Holds $holds
}

# When Task Scheduler starts something, and that it starts nothing again because it failed.
function Test-TaskFact {
    param([string] $Source)
    $null = New-World -Source $Source
    $failed = @{ exitCode = 1; output = '' }
    foreach ($trigger in 'startup', 'minutely', 'daily', 'none') {
        Set-Task -Name $trigger -Program 'C:\fails.exe' -ArgumentLine $trigger -Trigger $trigger -Enabled $true
        Set-Simulation -Area 'programs' -Name "C:\fails.exe $trigger" -Value $failed
    }
    Set-Task -Name 'off' -Program 'C:\fails.exe' -ArgumentLine 'off' -Trigger 'minutely' -Enabled $false
    Set-Task -Name 'stays' -Program 'C:\stays.exe' -ArgumentLine '' -Trigger 'minutely' -Enabled $true
    foreach ($moment in 'startup', 'minute', 'minute', 'minute') { Step-Simulation -Moment $moment }
    $names = 'startup', 'minutely', 'daily', 'none', 'off', 'stays'
    $turns = @{}
    foreach ($name in $names) { $turns[$name] = [int](Get-Simulation -Area 'turns' -Name $name) }
    $found = @($names | ForEach-Object { "$_ $($turns[$_])" }) -join ', '
    $holds = $turns.startup -eq 1
    Assert-That -Name 'an exit code is no reason to start a task again' -Holds $holds -Detail $found
    $holds = $turns.minutely -eq 3
    Assert-That -Name 'a task that repeats is started again after it failed' -Holds $holds -Detail $found
    $holds = $turns.stays -eq 1
    Assert-That -Name 'a task that runs is not started beside itself' -Holds $holds -Detail $found
    $holds = $turns.off -eq 0 -and $turns.none -eq 0 -and $turns.daily -eq 0
    Assert-That -Name 'a task without its trigger does not start' -Holds $holds -Detail $found
}

# What laws.json says of Windows, by the names of these cases: the simulation itself.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# The simulation itself: what tests/guest/laws.json says of Windows, by the names of these cases.
Describe 'Fact' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $folder = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
        $file = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'
        [IO.File]::WriteAllText("$world/C/a.txt", 'x')
        $null = [IO.Directory]::CreateDirectory("$world/C/a")
        Set-Sddl -Path 'C:\a.txt' -Sddl $folder
        $found = Get-Sddl -Path 'C:\a.txt'
    }

    It 'entries of a file have no inheritance flags' {
        $found | Should -BeExactly $file
    }

    It 'an access list is sorted and shortened' {
        Set-Sddl -Path 'C:\a' -Sddl 'O:BAG:SYD:P(A;CIOI;FA;;;BA)(A;CIOI;FA;;;S-1-5-18)(A;OICI;FRFX;;;BU)'
        $found = Get-Sddl -Path 'C:\a'
        $wanted = "$folder(A;OICI;0x1200a9;;;BU)"
        $found | Should -BeExactly $wanted
    }

    It 'a file that is moved into place inherits' {
        [IO.File]::WriteAllText("$world/C/a.txt.partial", 'y')
        Move-File -From "$world/C/a.txt.partial" -To "$world/C/a.txt"
        $found = Get-Sddl -Path 'C:\a.txt'
        ($found -cne $file) | Should -BeTrue -Because $found
    }

    It 'rights of nothing cannot be set' {
        { Set-Sddl -Path 'C:\none' -Sddl $folder } | Should -Throw
    }

    It 'a link needs its target' {
        { New-Link -Path 'C:\link' -Target 'C:\none' } | Should -Throw
    }

    It 'a value that is not there cannot be removed' {
        $script:key = 'HKLM:\SOFTWARE\Test'
        { Remove-RegistryValue -Key $key -Name 'x' } | Should -Throw
    }

    It 'a number has 32 bits' {
        $value = @{ Key = $key; Name = 'x'; Kind = 'DWord'; Data = 4294967296 }
        { Set-RegistryValue @value } | Should -Throw
    }

    It 'a service is made once' {
        New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
        { New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe' } | Should -Throw
    }

    It 'a service starts what it depends on' {
        New-ServiceEntry -Name 'two' -CommandLine 'C:\two.exe'
        Set-ServiceConfig -Name 'two' -Change @{ dependsOn = @('one') }
        Request-ServiceState -Name 'two' -State 'running'
        $one = Get-ServiceConfig -Name 'one'
        $one.state | Should -Be 'running'
    }

    It 'a service stops what depends on it' {
        Request-ServiceState -Name 'one' -State 'stopped'
        $two = Get-ServiceConfig -Name 'two'
        $two.state | Should -Be 'stopped'
    }

    It 'a disabled service does not start' {
        Set-ServiceStart -Name 'one' -StartType 'disabled'
        { Request-ServiceState -Name 'one' -State 'running' } | Should -Throw
    }

    It 'networks come back with a mask' {
        New-FirewallRule -Name 'rule' -Properties @{ remoteAddress = @('10.1.16.0/20', '10.0.0.1') }
        $rule = Get-FirewallRule -Name 'rule'
        $found = $rule.remoteAddress -join ' '
        $found | Should -BeExactly '10.1.16.0/255.255.240.0 10.0.0.1'
    }

    It 'accounts of a rule come back as letters' {
        New-FirewallRule -Name 'except' -Properties @{ localUser = 'O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)' }
        $rule = Get-FirewallRule -Name 'except'
        $found = $rule.localUser
        $found | Should -BeExactly 'O:LSD:(D;;CC;;;SY)(A;;CC;;;WD)'
    }

    It 'a rule is made once' {
        { New-FirewallRule -Name 'rule' -Properties @{} } | Should -Throw
    }

    It 'a task that is not there cannot be removed' {
        { Remove-Task -Name 'none' } | Should -Throw
    }

    It 'a pending restart stops features' {
        Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
        { Set-Feature -Name 'Containers' -Installed $true } | Should -Throw
    }

    It 'recovery actions are bytes of the registry' {
        Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
        $binary = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActions'
        $found = ConvertFrom-FailureAction -Hex $binary.data
        $told = "$($found.resetSeconds) $($found.actions[0].action) $($found.actions[0].delaySeconds)"
        $told | Should -Be '900 restart 60'
    }

    It 'an error code is a failure where the flag is set' {
        Set-ServiceFailureFlag -Name 'one' -Flag $true
        $flag = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActionsOnNonCrashFailures'
        $flag.kind | Should -Be 'DWord' -Because $flag
        $flag.data | Should -Be 1 -Because $flag
    }

    It 'a pull by digest keeps no tag' {
        $script:digest = "sha256:$('d' * 64)"
        $arguments = @('--config', 'C:\k\crictl.yaml', 'pull', "r.example/x:1@$digest")
        $null = Invoke-Program -Program 'C:\k\crictl.exe' -Arguments $arguments
        $found = Get-Simulation -Area 'images' -Name "r.example/x@$digest"
        $tagged = Get-Simulation -Area 'images' -Name 'r.example/x:1'
        $found | Should -Not -Be $null -Because $tagged
        $null -eq $tagged | Should -BeTrue
    }

    It 'a name that is not there cannot be tagged' {
        $arguments = @('-n', 'k8s.io', 'images', 'tag', '--force', "r.example/none@$digest", 'r.example/none:1')
        $tagged = Invoke-Program -Program 'C:\k\ctr.exe' -Arguments $arguments
        $tagged.exitCode | Should -Not -Be 0
    }

    It 'Windows chooses the addresses of a nat network' {
        $nat = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body '{"Name":"nat","Type":"NAT"}'
        $nat.Subnets[0].GatewayAddress | Should -Be '172.20.0.1' -Because $nat
    }

    It 'curl tells where a redirect leads and ends' {
        Set-Simulation -Area 'urls' -Name 'https://a.example/x' -Value 'redirect https://b.example/y?z=1'
        $command = Get-DownloadCommand -Url 'https://a.example/x' -Path "$world/C/moved"
        $line = Join-Argument -Arguments $command.arguments
        $native = Start-Native -Program $command.program -ArgumentLine $line
        $told = $native.output.Result
        if (-not $native.process.WaitForExit(10000)) { throw 'the program of a download does not end' }
        $body = [IO.File]::Exists("$world/C/moved")
        $native.process.ExitCode | Should -Be 0 -Because $told
        $body | Should -BeTrue -Because $told
        $told | Should -BeExactly 'https://b.example/y?z=1'
    }
}

# What Windows refuses: the simulation is no kinder.
Describe 'RefusedFact' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        Set-Simulation -Area 'files' -Name 'open.txt' -Value 'locked'
        [IO.File]::WriteAllText("$world/C/open.txt", 'old')
        [IO.File]::WriteAllText("$world/C/open.txt.partial", 'new')
    }

    It 'a file that another program has open is not replaced' {
        { Move-File -From "$world/C/open.txt.partial" -To "$world/C/open.txt" } | Should -Throw
    }

    It 'a link that is not there cannot be removed' {
        { Remove-Link -Path 'C:\none' } | Should -Throw
    }

    It 'a service that is not there cannot be removed' {
        { Remove-ServiceEntry -Name 'none' } | Should -Throw
    }

    It 'a service that is not there cannot be started' {
        { Request-ServiceState -Name 'none' -State 'running' } | Should -Throw
    }

    It 'a rule that is not there cannot be removed' {
        { Remove-FirewallRule -Name 'none' } | Should -Throw
    }

    It 'a port is excluded once' {
        Add-ExcludedPort -Protocol 'UDP' -Start 500 -Count 2
        { Add-ExcludedPort -Protocol 'UDP' -Start 501 -Count 1 } | Should -Throw
    }

    It 'a listener is made once' {
        { New-WinrmListener -Transport 'HTTPS' } | Should -Throw
    }

    It 'an account that is not there has no state' {
        { Set-UserState -Name 'none' -State 'disabled' } | Should -Throw
    }

    It 'a task that is not there cannot be started' {
        { Start-Task -Name 'none' } | Should -Throw
    }

    It 'a task that is not there cannot be stopped' {
        { Stop-Task -Name 'none' -Program 'C:\x.exe' } | Should -Throw
    }

    It 'an address that no card has forwards nothing' {
        { Enable-Forwarding -Address '10.9.9.9' } | Should -Throw
    }

    It 'a network that is not there cannot be removed' {
        { Invoke-HostNetwork -Method 'DELETE' -Path '/networks/none' } | Should -Throw
    }

    It 'an end is attached once' {
        $body = '{"Name":"e","IPAddress":"10.9.0.2"}'
        $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints' -Body $body
        $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}'
        { Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}' } | Should -Throw
    }

    It 'exclusions that a policy hides are not listed' {
        Set-Simulation -Area 'os' -Name 'hidesExclusions' -Value 'yes'
        Set-DefenderExclusion -Kind 'path' -Value 'C:\hidden' -Present $true
        $found = @(Get-DefenderExclusion -Kind 'path')
        $found.Count | Should -Be 1 -Because $found
        $found[0].StartsWith('N/A:') | Should -BeTrue -Because $found
    }

    It 'a Defender that a policy turned off answers nothing' {
        $script:policy = @{ Name = 'DisableAntiSpyware' }
        $policy.Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender'
        Set-RegistryValue @policy -Kind 'DWord' -Data 1
        { Get-DefenderExclusion -Kind 'path' } | Should -Throw
    }

    It 'without Defender there is nothing to ask' {
        Remove-RegistryValue @policy
        Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
        { Get-DefenderExclusion -Kind 'path' } | Should -Throw
    }
}

# What shows itself later: after a restart, after a minute, after the image was generalised.
Describe 'LaterFact' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $due = Set-Feature -Name 'Later' -Installed $true
        $before = Test-Feature -Name 'Later'
        Restart-World -World $world
    }

    It 'a feature is there after the restart that it asks for' {
        $due | Should -BeTrue
        $before | Should -BeFalse
        (Test-Feature -Name 'Later') | Should -BeTrue
    }

    It 'recovery actions start a service that stopped with an error' {
        New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
        Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
        Set-ServiceConfig -Name 'one' -Change @{ stopsWithError = $true }
        $script:found = @(foreach ($start in 'manual', 'disabled') {
            Set-ServiceStart -Name 'one' -StartType 'manual'
            foreach ($state in 'running', 'running', 'stopped') { Request-ServiceState -Name 'one' -State $state }
            Set-ServiceStart -Name 'one' -StartType $start
            Step-Simulation -Moment 'minute'
            $one = Get-ServiceConfig -Name 'one'
            $one.state
        })
        $found[0] | Should -Be 'running' -Because $found
    }

    It 'recovery actions start no service that is disabled' {
        $found[1] | Should -Be 'stopped' -Because $found
    }

    It 'the built-in administrator is one by its identifier' {
        Set-Simulation -Area 'users' -Name 'customer' -Value 'present'
        Set-Simulation -Area 'administrators' -Name 'customer' -Value '500'
        (Test-BuiltInAdministrator -Name 'customer') | Should -BeTrue
        (Test-BuiltInAdministrator -Name 'packer') | Should -BeFalse
    }
}

# When Task Scheduler starts something, and that it starts nothing again because it failed.
Describe 'TaskFact' -Tag 'laws' {
    BeforeAll {
        $null = New-World
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
    }

    It 'an exit code is no reason to start a task again' {
        $turns.startup | Should -Be 1 -Because $found
    }

    It 'a task that repeats is started again after it failed' {
        $turns.minutely | Should -Be 3 -Because $found
    }

    It 'a task that runs is not started beside itself' {
        $turns.stays | Should -Be 1 -Because $found
    }

    It 'a task without its trigger does not start' {
        $turns.off | Should -Be 0 -Because $found
        $turns.none | Should -Be 0 -Because $found
        $turns.daily | Should -Be 0 -Because $found
    }
}

# Programs, ports, answers and the machine as a whole obey what laws.json says of them.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'WholeMachine' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $found = Get-OsBuild
    }

    It 'the build of the machine is two numbers' {
        $found.build | Should -Be 17763 -Because $found
        $found.revision | Should -Be 9999 -Because $found
    }

    It 'the power plan is the one that was set' {
        Set-PowerPlan -Plan '381b4222-f694-41f0-9685-ff5bb260df2e'
        $found = Get-PowerPlan
        $found | Should -Be '381b4222-f694-41f0-9685-ff5bb260df2e'
    }

    It 'a shell that is not ours is named' {
        Set-Simulation -Area 'os' -Name 'shell' -Value 'this is a 32-bit process'
        $found = "$(Get-ShellObstacle)"
        ($found -match '32-bit') | Should -BeTrue -Because $found
    }

    It 'a machine without space is refused' {
        Set-Simulation -Area 'os' -Name 'free' -Value 1024
        $found = Get-FreeSpace
        $found | Should -Be 1024
    }

    It 'a restart is asked for, not waited for' {
        Request-Restart
        $found = Get-Simulation -Area 'os' -Name 'restart'
        $found | Should -Be 'asked'
    }

    It 'a user is told that an administrator is needed' {
        Set-Simulation -Area 'os' -Name 'guest' -Value 'yes'
        (Test-Administrator) | Should -BeFalse
    }

    It 'a feature that this Windows does not know is an error' {
        Set-Simulation -Area 'features' -Name 'Unheard-Of' -Value 'unknown'
        $said = Get-Refusal -Block { Test-Feature -Name 'Unheard-Of' }
        $said | Should -Not -Be ''
    }

    It 'without a change the dynamic ports begin at 49152' {
        $found = Get-DynamicPort -Protocol 'TCP'
        $told = "$($found.start) $($found.count)"
        $told | Should -Be '49152 16384'
    }

    It 'an address of a card is there' {
        Set-Simulation -Area 'cards' -Name '10.9.9.9' -Value 'Ethernet'
        $card = Get-NetworkCard -Address '10.9.9.9'
        (Test-NetworkAddress -Address '10.9.9.9') | Should -BeTrue -Because $card
        $card.length | Should -BeGreaterThan 0 -Because $card
        @(Get-CardAddress | ForEach-Object { $_.addresses }).Count | Should -BeGreaterThan 0
    }

    It 'an exclusion is listed after it was added' {
        Set-DefenderExclusion -Kind 'path' -Value 'C:\x' -Present $true
        $found = @(Get-DefenderExclusion -Kind 'path')
        ($found -contains 'C:\x') | Should -BeTrue -Because $found
    }
}

Describe 'ProcessLife' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        Start-Deadline -Name 'processes' -Seconds 60
        $shell = Get-PowerShellPath
    }

    It 'the shell of the machine is one that is there' {
        [IO.File]::Exists($shell) | Should -BeTrue
    }

    It 'a program is ended with what it started' {
        $native = Start-Native -Program 'sh' -ArgumentLine '-c "sleep 600"'
        Stop-ProcessTree -Process $native.process
        $native.process.WaitForExit(10000) | Should -BeTrue
    }

    It 'one package is installed at a time' {
        Set-Simulation -Area 'packages' -Name 'one.msi' -Value 'C:\one.exe'
        # As the resource gives it: a path that programs know.
        $script:package = "$world/C/one.msi"
        Set-Simulation -Area 'os' -Name 'busyInstaller' -Value 1
        $with = @{ Package = $package; Log = "$package.log"; Arguments = @('A=b c') }
        $turns = @(foreach ($turn in 1, 2) { Install-Msi @with })
        $told = $turns -join ' '
        $told | Should -Be 'busy installed'
    }

    It 'a package leaves what it installs' {
        [IO.File]::Exists("$world/C/one.exe") | Should -BeTrue
        [IO.File]::Exists("$package.log") | Should -BeTrue
    }

    It 'the script that fails says why' {
        $said = Get-Refusal -Block {
            Set-Simulation -Area 'fails' -Name 'Invoke-ScriptText' -Value 'once'
            Invoke-ScriptText -Text 'throw'
        }
        $said.Contains('failure of') | Should -BeTrue -Because $said
    }

    It 'a process that is started keeps AllSigned' {
        Set-Simulation -Area 'policy' -Name 'execution' -Value 'AllSigned'
        $found = Get-ChildPolicy
        $found | Should -Be 'AllSigned'
    }
}

# What the machine answers: logs, pages, tasks of SYSTEM.
Describe 'MachineAnswer' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        Write-EventLine -Text 'of a law'
        $found = Get-Simulation -Area 'os' -Name 'event'
    }

    It 'an error is in the log of the machine' {
        $found | Should -BeExactly 'of a law'
    }

    It 'a page that does not answer is nothing' {
        $found = Get-UrlText -Url 'http://127.0.0.1:9/none'
        $null -eq $found | Should -BeTrue
    }

    It 'a task is the one that was made' {
        Set-Task -Name 'daily' -Program 'C:\a.exe' -ArgumentLine 'b' -Trigger 'daily' -Enabled $true
        $found = Get-Task -Name 'daily'
        $told = "$($found.program) $($found.argumentLine) $($found.trigger) $($found.enabled)"
        $told | Should -Be 'C:\a.exe b daily True'
    }

    It 'a program of SYSTEM has its exit code' {
        $ran = @{ exitCode = 42; output = '' }
        Set-Simulation -Area 'programs' -Name 'C:\a.exe /x' -Value $ran
        $code = Invoke-AsSystem -Program 'C:\a.exe' -ArgumentLine '/x'
        $code | Should -Be 42
    }
}

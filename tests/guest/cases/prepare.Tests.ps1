# The phase that installs features and updates, and Defender in its kinds.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# A restart that is due stops features; the phase asks for it and is done after it. Packages that are not for this
# Windows are remembered, because no list names them.
Describe 'Prepare' -Tag 'engine' {
    BeforeAll {
        $script:world = New-World
        Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
        $script:run = Invoke-Engine -World $world -Phase 'prepare'
    }

    It 'a pending restart is no failure' {
        Assert-Run -Run $run -Code 0 -Text 'waits for a restart'
    }

    It 'a pending restart is asked for' {
        $run.result.restart | Should -BeTrue -Because $run.text
    }

    It 'prepare after the restart' {
        Restart-World -World $world
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
    }

    Context '<outcome>' -ForEach @(@{ outcome = 'notApplicable' }, @{ outcome = 'present' }) {
        BeforeAll {
            $script:world = New-World
            Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
            $script:run = Invoke-Engine -World $world -Phase 'prepare'
        }

        It 'an update that is <outcome>' {
            Assert-Run -Run $run -Code 0
        }

        It 'an update that is <outcome> is remembered' {
            Restart-World -World $world
            $script:run = Invoke-Engine -World $world -Phase 'prepare'
            $run.result.changed | Should -Be 0 -Because $run.text
        }
    }

    It 'another installation is waited for before a package is installed' {
        $script:world = New-World
        Set-Simulation -Area 'os' -Name 'busyInstaller' -Value 1
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
        [IO.File]::Exists((Get-WorldFile -World $world -Path 'C:\Program Files\init\init.exe')) | Should -BeTrue
    }

    # An update that Windows takes back during its restart is installed once more. The list names it neither then
    # nor where it is there under another name, which the package tells.
    Context '<outcome>' -ForEach @(
        @{ outcome = 'present'; result = 'remembers it' }
        @{ outcome = 'restart'; result = 'says that Windows took it back twice' }
    ) {
        BeforeAll {
            $script:world = New-World
            Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value 'restart'
            $script:run = Invoke-Engine -World $world -Phase 'prepare'
        }

        It 'an update asks for a restart' {
            $run.result.restart | Should -BeTrue -Because $run.text
        }

        It 'an update that was taken back and is <outcome>' {
            Restart-World -World $world
            Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
            $script:run = Invoke-Engine -World $world -Phase 'prepare'
            Assert-Run -Run $run -Code 0
        }

        It 'it is installed once more: <outcome>' {
            $run.result.changed | Should -Be 1 -Because $run.text
            $run.result.restart | Should -Be ($outcome -eq 'restart') -Because $run.text
        }

        It 'a third run of <outcome> <result>' {
            Restart-World -World $world
            $run = Invoke-Engine -World $world -Phase 'prepare'
            if ($outcome -eq 'present') {
                $run.result.changed | Should -Be 0 -Because $run.text
            } else {
                Assert-Run -Run $run -Code 1 -Text 'during two restarts'
            }
        }
    }

    Context '<kind>' -ForEach @(
        @{ kind = 'without' }
        @{ kind = 'with another antivirus beside' }
        @{ kind = 'with hidden exclusions of' }
    ) {
        BeforeAll {
            $script:world = New-World
            if ($kind -eq 'without') {
                Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
            } elseif ($kind -like '*hidden*') {
                Set-Simulation -Area 'os' -Name 'hidesExclusions' -Value 'yes'
            } else {
                $policy = @{ Name = 'DisableAntiSpyware' }
                $policy.Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender'
                Set-RegistryValue @policy -Kind 'DWord' -Data 1
            }
            $script:run = Invoke-Engine -World $world -Phase 'install'
        }

        It 'a machine <kind> Defender' {
            Assert-Run -Run $run -Code 0
        }
    }

    It 'what cannot be seen is excluded' {
        $found = @(Get-Simulation -Area 'defender' -Name 'process')
        $found.Count | Should -BeGreaterThan 0 -Because $found
        $found[0] | Should -BeTrue -Because $found
    }
}

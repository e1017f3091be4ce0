# Checks of a plan, drift, and limits of time.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# Plan and scripts alone: nothing is compared, and nothing is kept as an error.
Describe 'Check' -Tag 'engine' {
    BeforeAll {
        $world = New-World
        $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
    }

    It 'a good plan is taken' {
        Assert-Run -Run $run -Code 0
    }

    It 'a check has an outcome' {
        $run.result | Should -Not -Be $null -Because $run.text
        $run.result.mode | Should -Be 'check' -Because $run.text
        $run.result.failed | Should -Be 0 -Because $run.text
    }

    It 'a check that passes keeps no reason' {
        $kept = [IO.File]::Exists("$world/C/imagegen/state/errors.log")
        $kept | Should -BeFalse
    }

    Context '<name>' -ForEach @(@{ name = 'engine/Reason.ps1' }, @{ name = 'resources/file.ps1' }) {
        BeforeAll {
            [IO.File]::AppendAllText("$world/C/imagegen/$name", "`n")
            $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
        }

        AfterAll {
            Copy-Script -Destination "$world/C/imagegen"
        }

        It 'a check finds a changed <name>' {
            Assert-Run -Run $run -Code 2
        }
    }

    It 'the reason is kept by a script that was checked' {
        $kept = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
        $kept.Contains('script resources/file.ps1 is') | Should -BeTrue -Because $kept
        $kept.Contains('Reason.ps1 is') | Should -BeFalse -Because $kept
    }

    It 'no line moves the terminal' {
        . "$Provisioners/engine/Reports.ps1"
        $told = "$(Write-Line -Text "a$([char]27)[2Jb$([char]155)c`r`nd`re" 6>&1)"
        $told | Should -BeExactly "imagegen: a?[2Jb?c`r`nd?e"
    }
}

Describe 'Drift' -Tag 'engine' {
    BeforeAll {
        $world = New-InstalledWorld
        [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
        [IO.File]::AppendAllText("$world/C/opt/cni/bin/win-bridge.exe", 'x')
        Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
        Set-ServiceFailure -Name 'containerd' -ResetSeconds 1 -Actions @(@{ action = 'reboot'; delaySeconds = 1 })
        Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'One' -Kind 'MultiString' -Data @('a', 'b')
        Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Gone' -Kind 'DWord' -Data 1
        $wanted = 'cni/plugins containerd/service kubelet/program kubelet/service registry/list registry/none'
        $script:run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    }

    It 'drift is found' {
        Assert-Run -Run $run -Code 8
    }

    It 'exactly the drifted are reported' {
        $script:report = Read-Report -World $world
        $drifted = @($report.resources | Where-Object { $_.result -eq 'drifted' } | ForEach-Object { $_.name })
        $drifted = @($drifted | Sort-Object)
        ($drifted -join ' ') | Should -Be $wanted -Because $drifted
    }

    It 'a difference says expected and actual' {
        $service = $report.resources | Where-Object { $_.name -eq 'kubelet/service' }
        $told = $service.differences[0]
        $told.property | Should -Be 'startType' -Because $told
        $told.expected | Should -Be 'auto' -Because $told
        $told.actual | Should -Be 'disabled' -Because $told
    }

    It 'ReportOnly exits 0' {
        $script:run = Invoke-Engine -World $world -Phase 'test' -Mode 'test' -ReportOnly
        Assert-Run -Run $run -Code 0
    }

    It 'no seal after drift' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'seal') -Code 8
    }

    It 'install after drift' {
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'install repairs the drifted' {
        $run.result.changed | Should -Be 6 -Because $run.text
    }

    It 'test passes again' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    }

    It 'a program that fails meets no assertion' {
        foreach ($exitCode in 1, 0) {
            foreach ($line in Get-SimulationName -Area 'programs') {
                $played = Get-Simulation -Area 'programs' -Name $line
                $played.exitCode = $exitCode
                Set-Simulation -Area 'programs' -Name $line -Value $played
            }
            $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
            Assert-Run -Run $run -Code (8 * $exitCode)
        }
    }

    It 'other entries of the Path stay' {
        $value = @{ Key = (Get-EnvironmentKey); Name = 'Path' }
        Set-RegistryValue @value -Kind 'ExpandString' -Data 'C:\other'
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
        $found = Get-RegistryValue @value
        $found.data.Split(';') | Should -Contain 'C:\other' -Because $found.data
    }

    It 'the page file is a list, which Windows wants' {
        $value = @{ Key = (Get-MemoryKey); Name = 'PagingFiles' }
        Set-RegistryValue @value -Kind 'MultiString' -Data @('C:\pagefile.sys 1 2')
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
        (Get-RegistryValue @value).kind | Should -Be 'MultiString'
    }

    It 'no seal with the report of a machine before' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'seal') -Code 8
    }

    It 'what differs after it was set is a failure' {
        $script:world = New-InstalledWorld -Edit {
            param($content)
            (Select-Named -Content $content -Name 'system/script').properties.expected = 'never printed'
        }
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'system/script: still differs after it was set'
        $script:world = New-InstalledWorld
    }

    It 'an assertion says what was found' {
        Set-ServiceConfig -Name 'containerd' -Change @{ state = 'stopped' }
        $script:run = Invoke-Engine -World $world -Phase 'test'
        Assert-Run -Run $run -Code 1 -Text 'service containerd is stopped'
    }
}

Describe 'TimeLimit' -Tag 'engine' {
    BeforeAll {
        $script:world = New-World -Edit {
            param($content)
            $service = $content.resources | Where-Object { $_.name -eq 'containerd/service' }
            $service.timeoutSeconds = 1
            $service.properties.displayName = 'hangs'
        }
        $run = Invoke-Engine -World $world -Phase 'install'
    }

    It 'a service that hangs is given up' {
        Assert-Run -Run $run -Code 1 -Text 'time limit of 1 s'
    }

    It 'a service that dies is given up' {
        $script:world = New-World -Edit {
            param($content)
            $service = Select-Named -Content $content -Name 'containerd/service'
            $service.properties.displayName = 'dies'
        }
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'stopped while it was starting'
    }

    It 'checks before sysprep' {
        $script:world = New-InstalledWorld -Edit {
            param($content)
            $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
            $sysprep.timeoutSeconds = 2
            $answers = Select-Named -Content $content -Name 'seal/answers'
            $answers = $answers.properties
            $answers.content = 'hangs'
            $answers.sha256 = Get-ByteHash -Bytes (Get-TextByte -Text 'hangs')
        }
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    }

    It 'sysprep is given up with its log' {
        $run = Invoke-Engine -World $world -Phase 'seal'
        Assert-Run -Run $run -Code 1 -Text 'last line of setuperr.log'
    }
}

# Laws of Windows that stopped images or joins: what the simulated Windows does, and what the engine makes of it.
# laws.json has their sources.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# Services: variables, changes that take time, dependents.
Describe 'ServiceLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World -Edit {
            param($content)
            $service = Select-Named -Content $content -Name 'containerd/service'
            $service.properties | Add-Member -NotePropertyName 'environment' -NotePropertyValue @() -Force
        }
        $value = @{ Key = (Get-ServiceKey -Name 'one'); Name = 'Environment' }
        New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
        Set-RegistryValue @value -Kind 'MultiString' -Data @()
    }

    It 'a service with an empty list of variables does not start' {
        { Request-ServiceState -Name 'one' -State 'running' } | Should -Throw
    }

    It 'a service that changes takes no request to stop' {
        Remove-RegistryValue @value
        Set-ServiceConfig -Name 'one' -Change @{ state = 'start pending'; left = 3; next = 'running' }
        { Request-ServiceState -Name 'one' -State 'stopped' } | Should -Throw
    }

    It 'a change is waited for' {
        Start-Deadline -Name 'laws' -Seconds 20
        Wait-ServiceState -Name 'one' -State 'stopped'
        $one = Get-ServiceConfig -Name 'one'
        $one.state | Should -Be 'stopped' -Because $one
    }

    It 'a service waits for its dependents in vain' {
        Request-ServiceState -Name 'one' -State 'running'
        New-ServiceEntry -Name 'two' -CommandLine 'C:\two.exe'
        $slow = @{ dependsOn = @('one'); state = 'running'; slow = 3 }
        Set-ServiceConfig -Name 'two' -Change $slow
        { Request-ServiceState -Name 'one' -State 'stopped' } | Should -Throw
    }

    It 'dependents are stopped first' {
        Set-ServiceConfig -Name 'two' -Change @{ state = 'running'; left = $null }
        Wait-ServiceState -Name 'one' -State 'stopped'
        $two = Get-ServiceConfig -Name 'two'
        $two.state | Should -Be 'stopped' -Because $two
    }

    It 'no variables: install, in as many runs as its restarts need' {
        foreach ($turn in 1, 2) {
            Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
            if ($turn -eq 1) { Restart-World -World $world }
        }
    }

    It 'no variables are no value' {
        $value.Key = Get-ServiceKey -Name 'containerd'
        $found = Get-RegistryValue @value
        $null -eq $found | Should -BeTrue
    }

    It 'an empty list of variables is a drift' {
        Set-RegistryValue @value -Kind 'MultiString' -Data @()
        $run = Invoke-Engine -World $world -Phase 'install' -Mode 'test'
        $text = 'drifted containerd/service'
        Assert-Run -Run $run -Code 8 -Text $text
    }

    It 'an empty list of variables: install, in as many runs as its restarts need' {
        foreach ($turn in 1, 2) {
            Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
            if ($turn -eq 1) { Restart-World -World $world }
        }
    }

    It 'an empty list is taken away' {
        $found = Get-RegistryValue @value
        $null -eq $found | Should -BeTrue
    }
}

# Sysprep and the first boot of a clone, whose services start and stop by themselves.
Describe 'FirstBootLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        Clear-Simulation -Area 'keys'
    }

    It 'a key that Sysprep took cannot be removed' {
        { Remove-MachineCertificate -Thumbprint 'C3D4' -WithKey $true } | Should -Throw
    }

    It 'its certificate is gone all the same' {
        $left = Test-BuildCertificate -Thumbprint 'C3D4'
        $left | Should -BeFalse
    }

    Context '<kind>' -ForEach @(@{ kind = 'a key that is gone' }, @{ kind = 'a failure that passes' }) {
        BeforeAll {
            $script:world = New-InstalledWorld -Edit {
                param($content)
                $listener = Select-Named -Content $content -Name 'firstboot/winrm'
                $listener.timeoutSeconds = 30
                $user = Select-Named -Content $content -Name 'firstboot/user'
                $user.properties.ensure = 'disabled'
            }
            Clear-Simulation -Area 'keys'
            Set-Simulation -Area 'users' -Name 'packer' -Value $null
            if ($kind -eq 'a failure that passes') {
                Set-Simulation -Area 'fails' -Name 'Remove-WinrmListener' -Value 'once'
            }
            $run = Invoke-Engine -World $world -Phase 'firstboot'
        }

        It 'first boot: <kind>' {
            Assert-Run -Run $run -Code 0
        }

        It 'first boot: <kind>: the way in is closed' {
            $left = (Test-BuildCertificate -Thumbprint 'C3D4') -or (Test-WinrmListener -Transport 'HTTPS')
            $left | Should -BeFalse
        }
    }

    It 'first boot: the journal has its end' {
        $found = @(Get-Content -LiteralPath "$world/C/imagegen/journal.jsonl" | Select-Object -Last 1)
        $found.Count | Should -Be 1 -Because $found
    }
}

# A network of the profile Public, on which WinRM takes no settings.
Describe 'WinrmLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
        Set-Simulation -Area 'os' -Name 'network' -Value 'Public'
    }

    It 'WinRM takes no setting on a public network' {
        { Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'false' } | Should -Throw
    }

    It 'a setting on a public network' {
        $run = Invoke-Engine -World $world -Phase 'bootstrap'
        Assert-Run -Run $run -Code 0
    }

    It 'it is set through the registry' {
        $found = Get-WinrmSetting -Setting 'Service\Auth\Basic'
        $found | Should -Be 'false'
    }

    It 'WinRM runs again' {
        $found = Get-ServiceConfig -Name 'WinRM'
        $found.state | Should -Be 'running' -Because $found
    }
}

# Agents of a platform: one of several names, and some time after the start.
Describe 'AgentLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-InstalledWorld -Edit {
            param($content)
            $check = Select-Named -Content $content -Name 'checks/containerd'
            $check.timeoutSeconds = 30
            $check.properties.serviceName = 'NewAgent'
            $check.properties | Add-Member -NotePropertyName 'alternatives' -NotePropertyValue @('containerd')
        }
        $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    }

    It 'an agent has one of its names' {
        Assert-Run -Run $run -Code 0
    }

    It 'an agent that starts is waited for' {
        Set-ServiceConfig -Name 'containerd' -Change @{ state = 'start pending'; left = 4; next = 'running' }
        $run = Invoke-Engine -World $world -Phase 'test'
        Assert-Run -Run $run -Code 0
    }
}

# Files that somebody holds for a moment, or that are marked as read-only.
Describe 'FileLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        [IO.File]::WriteAllText("$world/C/marked.txt", 'old')
        [IO.File]::WriteAllText("$world/C/marked.txt.partial", 'new')
        [IO.File]::SetAttributes("$world/C/marked.txt", [IO.FileAttributes]::ReadOnly)
    }

    It 'a file that is marked as read-only is not replaced' {
        { Move-File -From "$world/C/marked.txt.partial" -To "$world/C/marked.txt" } | Should -Throw
    }

    It 'its mark is taken away first' {
        Move-Partial -Target "$world/C/marked.txt"
        $found = [IO.File]::ReadAllText("$world/C/marked.txt")
        $found | Should -BeExactly 'new'
    }

    It 'a file that is held for a moment is replaced' {
        Set-Simulation -Area 'files' -Name 'kubelet.exe' -Value 'held 3'
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }
}

# Registries that fail for a moment, and disks that stay full.
Describe 'PullLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        Set-Simulation -Area 'os' -Name 'pull' -Value '2 connection reset by peer'
        $run = Invoke-Engine -World $world -Phase 'install'
    }

    It 'a pull that fails is tried again' {
        Assert-Run -Run $run -Code 0
    }

    It 'a full disk stays full' {
        $world = New-World
        Set-Simulation -Area 'os' -Name 'pull' -Value '2 There is not enough space on the disk'
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'not enough space'
    }
}

# Updates: an agent that is busy, one that fails once, one that never installs.
Describe 'UpdateLaw' -Tag 'laws' {
    BeforeEach {
        $world = New-World
        # Else its restart comes before a second try.
        Set-Simulation -Area 'updates' -Name '0fa1201d-4330-4fa8-8ae9-b877473b6441' -Value 'installed'
    }

    It 'another installation makes the agent busy' {
        Set-Simulation -Area 'os' -Name 'busy' -Value 1
        (Invoke-UpdateAgent -Kbs 'KB5001407' -Install $true).busy | Should -BeTrue
    }

    It 'an update is installed by an agent that is busy' {
        Set-Simulation -Area 'os' -Name 'busy' -Value 1
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
        Get-Simulation -Area 'updates' -Name 'KB5001407' | Should -Be 'installed'
    }

    It 'an update that fails once is installed later' {
        Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'later'
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
        Get-Simulation -Area 'updates' -Name 'KB5001407' | Should -Be 'installed'
    }

    It 'an update that never installs is named' {
        Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'never'
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Run $run -Code 1 -Text 'KB5001407: 0x80070643'
    }

    It 'a search that is kept from its end does not count as nothing missing' {
        Set-Simulation -Area 'os' -Name 'busySearch' -Value 1
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Run $run -Code 0
        Get-Simulation -Area 'updates' -Name 'KB5001407' | Should -Be 'installed' -Because $run.text
    }
}

# Sysprep that refuses has ended, and the state is what it was.
Describe 'SealLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $found = "$(Get-ImageState) $(Test-SysprepRunning)"
    }

    It 'a machine is not sealed by itself' {
        $found.EndsWith('False') | Should -BeTrue -Because $found
    }

    It 'checks before a Sysprep that refuses' {
        $script:world = New-InstalledWorld -Edit {
            param($content)
            $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
            $sysprep.timeoutSeconds = 600
        }
        $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
        Assert-Run -Run $run -Code 0
    }

    It 'the message has the reason of setuperr.log' {
        Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
        $run = Invoke-Engine -World $world -Phase 'seal'
        Assert-Run -Run $run -Code 1 -Text 'SYSPRP 0x80073cf2'
        # Not when the time is over.
        Assert-Run -Run $run -Code 1 -Text 'Sysprep has ended, and the state is'
    }
}

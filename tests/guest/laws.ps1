# Laws of Windows that stopped images or joins: what the simulated Windows does, and what the engine makes of it.
# laws.json has their sources. Loaded by run.ps1.

# Services: variables, changes that take time, dependents.
function Test-ServiceLaw {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        $service = Select-Named -Content $content -Name 'containerd/service'
        $service.properties | Add-Member -NotePropertyName 'environment' -NotePropertyValue @() -Force
    }
    $value = @{ Key = (Get-ServiceKey -Name 'one'); Name = 'Environment' }
    New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
    Set-RegistryValue @value -Kind 'MultiString' -Data @()
    Assert-Throw -Name 'a service with an empty list of variables does not start' -Block {
        Request-ServiceState -Name 'one' -State 'running'
    }
    Remove-RegistryValue @value
    Set-ServiceConfig -Name 'one' -Change @{ state = 'start pending'; left = 3; next = 'running' }
    Assert-Throw -Name 'a service that changes takes no request to stop' -Block {
        Request-ServiceState -Name 'one' -State 'stopped'
    }
    Start-Deadline -Name 'laws' -Seconds 20
    Wait-ServiceState -Name 'one' -State 'stopped'
    $one = Get-ServiceConfig -Name 'one'
    Assert-That -Name 'a change is waited for' -Holds ($one.state -eq 'stopped') -Detail $one
    Request-ServiceState -Name 'one' -State 'running'
    New-ServiceEntry -Name 'two' -CommandLine 'C:\two.exe'
    $slow = @{ dependsOn = @('one'); state = 'running'; slow = 3 }
    Set-ServiceConfig -Name 'two' -Change $slow
    Assert-Throw -Name 'a service waits for its dependents in vain' -Block {
        Request-ServiceState -Name 'one' -State 'stopped'
    }
    Set-ServiceConfig -Name 'two' -Change @{ state = 'running'; left = $null }
    Wait-ServiceState -Name 'one' -State 'stopped'
    $two = Get-ServiceConfig -Name 'two'
    Assert-That -Name 'dependents are stopped first' -Holds ($two.state -eq 'stopped') -Detail $two

    $run = Invoke-Engine -World $world -Phase 'install'
    $run = Assert-Installed -World $world -Run $run -Name 'no variables'
    $value.Key = Get-ServiceKey -Name 'containerd'
    $found = Get-RegistryValue @value
    Assert-That -Name 'no variables are no value' -Holds ($null -eq $found) -Detail $found
    Set-RegistryValue @value -Kind 'MultiString' -Data @()
    $run = Invoke-Engine -World $world -Phase 'install' -Mode 'test'
    $text = 'drifted containerd/service'
    Assert-Run -Name 'an empty list of variables is a drift' -Run $run -Code 8 -Text $text
    $run = Invoke-Engine -World $world -Phase 'install'
    $run = Assert-Installed -World $world -Run $run -Name 'an empty list of variables'
    $found = Get-RegistryValue @value
    Assert-That -Name 'an empty list is taken away' -Holds ($null -eq $found) -Detail $found
}

# The phase install, in as many runs as its restarts need.
function Assert-Installed {
    param([string] $World, $Run, [string] $Name)
    Assert-Run -Name "${Name}: install" -Run $Run -Code 0
    Restart-World -World $World
    $again = Invoke-Engine -World $World -Phase 'install'
    Assert-Run -Name "${Name}: install again" -Run $again -Code 0
    $again
}

# Sysprep and the first boot of a clone, whose services start and stop by themselves.
function Test-FirstBootLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    Clear-Simulation -Area 'keys'
    Assert-Throw -Name 'a key that Sysprep took cannot be removed' -Block {
        Remove-MachineCertificate -Thumbprint 'C3D4' -WithKey $true
    }
    $left = Test-BuildCertificate -Thumbprint 'C3D4'
    Assert-That -Name 'its certificate is gone all the same' -Holds (-not $left)
    foreach ($kind in 'a key that is gone', 'a failure that passes') {
        $world = New-InstalledWorld -Source $Source -Edit {
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
        Assert-Run -Name "first boot: $kind" -Run $run -Code 0
        $left = (Test-BuildCertificate -Thumbprint 'C3D4') -or (Test-WinrmListener -Transport 'HTTPS')
        Assert-That -Name "first boot: ${kind}: the way in is closed" -Holds (-not $left)
    }
    $found = @(Get-Content -LiteralPath "$world/C/imagegen/journal.jsonl" | Select-Object -Last 1)
    Assert-That -Name 'first boot: the journal has its end' -Holds ($found.Count -eq 1) -Detail $found
}

# A network of the profile Public, on which WinRM takes no settings.
function Test-WinrmLaw {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
    Set-Simulation -Area 'os' -Name 'network' -Value 'Public'
    Assert-Throw -Name 'WinRM takes no setting on a public network' -Block {
        Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'false'
    }
    $run = Invoke-Engine -World $world -Phase 'bootstrap'
    Assert-Run -Name 'a setting on a public network' -Run $run -Code 0
    $found = Get-WinrmSetting -Setting 'Service\Auth\Basic'
    Assert-That -Name 'it is set through the registry' -Holds ($found -eq 'false') -Detail $found
    $found = Get-ServiceConfig -Name 'WinRM'
    Assert-That -Name 'WinRM runs again' -Holds ($found.state -eq 'running') -Detail $found
}

# Agents of a platform: one of several names, and some time after the start.
function Test-AgentLaw {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $check = Select-Named -Content $content -Name 'checks/containerd'
        $check.timeoutSeconds = 30
        $check.properties.serviceName = 'NewAgent'
        $check.properties | Add-Member -NotePropertyName 'alternatives' -NotePropertyValue @('containerd')
    }
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'an agent has one of its names' -Run $run -Code 0
    Set-ServiceConfig -Name 'containerd' -Change @{ state = 'start pending'; left = 4; next = 'running' }
    $run = Invoke-Engine -World $world -Phase 'test'
    Assert-Run -Name 'an agent that starts is waited for' -Run $run -Code 0
}

# Files that somebody holds for a moment, or that are marked as read-only.
function Test-FileLaw {
    param([string] $Source)
    $world = New-World -Source $Source
    [IO.File]::WriteAllText("$world/C/marked.txt", 'old')
    [IO.File]::WriteAllText("$world/C/marked.txt.partial", 'new')
    [IO.File]::SetAttributes("$world/C/marked.txt", [IO.FileAttributes]::ReadOnly)
    Assert-Throw -Name 'a file that is marked as read-only is not replaced' -Block {
        Move-File -From "$world/C/marked.txt.partial" -To "$world/C/marked.txt"
    }
    Move-Partial -Target "$world/C/marked.txt"
    $found = [IO.File]::ReadAllText("$world/C/marked.txt")
    Assert-That -Name 'its mark is taken away first' -Holds ($found -ceq 'new') -Detail $found
    Set-Simulation -Area 'files' -Name 'kubelet.exe' -Value 'held 3'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a file that is held for a moment is replaced' -Run $run -Code 0
}

# Registries that fail for a moment, and disks that stay full.
function Test-PullLaw {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pull' -Value '2 connection reset by peer'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a pull that fails is tried again' -Run $run -Code 0
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pull' -Value '2 There is not enough space on the disk'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a full disk stays full' -Run $run -Code 1 -Text 'not enough space'
}

# Updates: an agent that is busy, one that fails once, one that never installs.
function Test-UpdateLaw {
    param([string] $Source)
    foreach ($kind in 'busy', 'later', 'never') {
        $world = New-World -Source $Source
        # Else its restart comes before a second try.
        Set-Simulation -Area 'updates' -Name '0fa1201d-4330-4fa8-8ae9-b877473b6441' -Value 'installed'
        if ($kind -eq 'busy') {
            Set-Simulation -Area 'os' -Name 'busy' -Value 1
            $busy = Invoke-UpdateAgent -Kbs 'KB5001407' -Install $true
            Assert-That -Name 'another installation makes the agent busy' -Holds $busy.busy -Detail $busy
            Set-Simulation -Area 'os' -Name 'busy' -Value 1
        } else {
            Set-Simulation -Area 'updates' -Name 'KB5001407' -Value $kind
        }
        $run = Invoke-Engine -World $world -Phase 'prepare'
        if ($kind -eq 'never') {
            $text = 'KB5001407: 0x80070643'
            Assert-Run -Name 'an update that never installs is named' -Run $run -Code 1 -Text $text
        } else {
            Assert-Run -Name "an update: $kind" -Run $run -Code 0
            $found = Get-Simulation -Area 'updates' -Name 'KB5001407'
            Assert-That -Name "an update: $kind, installed" -Holds ($found -eq 'installed') -Detail $found
        }
    }
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'busySearch' -Value 1
    $run = Invoke-Engine -World $world -Phase 'prepare'
    Assert-Run -Name 'a search that is kept from its end' -Run $run -Code 0
    $found = Get-Simulation -Area 'updates' -Name 'KB5001407'
    Assert-That -Name 'it does not count as nothing missing' -Holds ($found -eq 'installed') -Detail $run.text
}

# Sysprep that refuses has ended, and the state is what it was.
function Test-SealLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $found = "$(Get-ImageState) $(Test-SysprepRunning)"
    Assert-That -Name 'a machine is not sealed by itself' -Holds ($found.EndsWith('False')) -Detail $found

    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
        $sysprep.timeoutSeconds = 2
    }
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'checks before a Sysprep that refuses' -Run $run -Code 0
    Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'the message has the reason of setuperr.log' -Run $run -Code 1 -Text 'SYSPRP 0x80073cf2'
}

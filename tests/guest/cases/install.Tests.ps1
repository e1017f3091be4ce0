# Cases of Install.ps1, of the installer for an existing machine.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # A machine without a payload, and the installer in a folder of its own.
    function New-InstallerWorld {
        param()
        $world = New-World
        $installer = "$world/installer"
        if ([IO.Directory]::Exists($installer)) { Remove-Item -LiteralPath $installer -Recurse -Force }
        [IO.Directory]::Move("$world/C/imagegen", $installer)
        Copy-Item -LiteralPath "$Provisioners/installer/Install.ps1" -Destination "$installer/Install.ps1"
        $world
    }

    # One run of the installer out of a folder: its exit code, and the reason that it kept.
    function Invoke-Installer {
        param([string] $Folder, [hashtable] $With = @{})
        $With.Platform = $script:PlatformFile
        $log = "$Folder/state/errors.log"
        if ([IO.File]::Exists($log)) { [IO.File]::Delete($log) }
        $null = @(& "$Folder/Install.ps1" @With 6>&1)
        $code = $LASTEXITCODE
        $text = ''
        if ([IO.File]::Exists($log)) { $text = [IO.File]::ReadAllText($log) }
        @{ code = $code; text = $text }
    }
}

# Restarts as often as the installer asks, each time through the task that it registered.
Describe 'InstallLife' -Tag 'installer' {
    BeforeAll {
        $world = New-InstallerWorld
        $run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
    }

    It 'a check finds nothing' {
        Assert-Run -Run $run -Code 0
    }

    It 'a check copies nothing' {
        $there = Test-Path -LiteralPath "$world/C/imagegen"
        $there | Should -BeFalse
    }

    It 'a restart is due' {
        $run = Invoke-Installer -Folder "$world/installer"
        Assert-Run -Run $run -Code 3010
    }

    It 'a task goes on after the restart' {
        $task = Get-Task -Name 'imagegen-install'
        $wanted = '-File "C:\imagegen\Install.ps1" -MinimumFreeGB 1'
        $task | Should -Not -Be $null
        $task.argumentLine.EndsWith($wanted) | Should -BeTrue -Because $task
        $task.trigger | Should -Be 'startup' -Because $task
    }

    It 'the restart is asked for' {
        $asked = Get-Simulation -Area 'os' -Name 'restart'
        $asked | Should -Be 'asked'
    }

    It 'no installer beside another' {
        $held = [IO.File]::Create("$world/C/imagegen/install.lock")
        $run = Invoke-Installer -Folder "$world/installer"
        $held.Dispose()
        Assert-Run -Run $run -Code 2 -Text 'another installation is at work'
    }

    It 'the other one keeps its files' {
        [IO.File]::Exists("$world/C/imagegen/guest-plan.json") | Should -BeTrue
    }

    It 'the installation is completed' {
        $run = @{ code = 3010; text = '' }
        $script:turns = 0
        while ($run.code -eq 3010 -and $turns -lt 5) {
            $script:turns++
            Restart-World -World $world
            # As the task starts it, or a person, with a backslash that makes no other folder.
            $run = Invoke-Installer -Folder "$world/C/imagegen" -With @{ Destination = 'C:\imagegen\' }
        }
        Assert-Run -Run $run -Code 0
    }

    It 'it took restarts' {
        $turns | Should -BeGreaterOrEqual 2
    }

    It 'the task is gone' {
        $task = Get-Task -Name 'imagegen-install'
        $null -eq $task | Should -BeTrue
    }

    It 'the state is done' {
        $progress = [IO.File]::ReadAllText("$world/C/imagegen/install.json") | ConvertFrom-Json
        $progress.state | Should -Be 'done' -Because $progress
    }

    It 'once more from the installer' {
        $run = Invoke-Installer -Folder "$world/installer"
        Assert-Run -Run $run -Code 0
    }

    It 'a service that somebody disabled' {
        # What was changed between a restart and the checks is set again by the next run.
        $file = "$world/C/imagegen/install.json"
        [IO.File]::WriteAllText($file, [IO.File]::ReadAllText($file).Replace('"done"', '"finish"'))
        Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
        $run = Invoke-Installer -Folder "$world/C/imagegen"
        Assert-Run -Run $run -Code 8
    }

    It 'the next run sets it again' {
        $run = Invoke-Installer -Folder "$world/C/imagegen"
        Assert-Run -Run $run -Code 0
    }
}

# Each obstacle ends with 2 and leaves the machine as it was.
Describe 'InstallRefusal' -Tag 'installer' {
    BeforeAll {
        $script:world = New-InstallerWorld
        Set-Simulation -Area 'os' -Name 'shell' -Value 'this is PowerShell 7.6.5'
        $script:run = Invoke-Installer -Folder "$world/installer"
    }

    It 'another PowerShell is refused' {
        Assert-Run -Run $run -Code 2 -Text 'this is PowerShell 7.6.5'
    }

    It 'another folder than the plan has' {
        Set-Simulation -Area 'os' -Name 'shell' -Value $null
        $script:run = Invoke-Installer -Folder "$world/installer" -With @{ Destination = 'D:\imagegen' }
        Assert-Run -Run $run -Code 2 -Text 'the plan names C:\imagegen'
    }

    It 'a changed script of the installer' {
        [IO.File]::AppendAllText("$world/installer/engine/Tools.ps1", "`n")
        $script:run = Invoke-Installer -Folder "$world/installer"
        Assert-Run -Run $run -Code 2 -Text 'script engine/Tools.ps1 is'
    }

    It 'a refused installer is not copied' {
        $there = Test-Path -LiteralPath "$world/C/imagegen"
        $there | Should -BeFalse
    }

    It 'a script beside those of the plan' {
        $script:world = New-InstallerWorld
        $script:installer = "$world/installer"
        [IO.File]::WriteAllText("$installer/engine/extra.ps1", "throw 'loaded'`n")
        $script:run = Invoke-Installer -Folder $installer
        Assert-Run -Run $run -Code 2 -Text 'engine/extra.ps1 is no script'
    }

    # As Windows Server gives folders that an administrator makes on C:, and as a file is that a user may change.
    It 'rights of users in <below> are refused' -ForEach @(
        @{
            below = '/installer'
            rights = 'O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;CIID;LC;;;BU)(A;CIID;DC;;;BU)'
        }
        @{ below = '/installer/engine/Tools.ps1'; rights = 'O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;0x1301bf;;;AU)' }
        @{ below = ''; rights = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;;DT;;;BU)' }
    ) {
        if ([IO.File]::Exists("$installer/engine/extra.ps1")) { [IO.File]::Delete("$installer/engine/extra.ps1") }
        $place = "$world$below"
        Set-Simulation -Area 'sddl' -Name $place -Value $rights
        $run = Invoke-Installer -Folder $installer
        Set-Simulation -Area 'sddl' -Name $place -Value $null
        Assert-Run -Run $run -Code 2 -Text "$place may be written by"
    }

    It 'a folder of its own account is no obstacle' {
        # An administrator's own folder, and rights of what users make in a folder above.
        $own = 'O:S-1-5-21-1-2-3-1000G:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;S-1-5-21-1-2-3-1000)'
        Set-Simulation -Area 'sddl' -Name $installer -Value $own
        $root = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)(A;OICI;0x1200a9;;;BU)'
        Set-Simulation -Area 'sddl' -Name $world -Value $root
        $script:run = Invoke-Installer -Folder $installer -With @{ Check = $true }
        Assert-Run -Run $run -Code 0
    }

    It 'the folder of a user is refused' {
        $script:world = New-InstallerWorld
        $null = [IO.Directory]::CreateDirectory("$world/C/imagegen")
        $script:run = Invoke-Installer -Folder "$world/installer"
        Assert-Run -Run $run -Code 2 -Text 'not of an installation'
    }

    Context 'a machine with files in a folder of the plan' {
        BeforeAll {
            $script:world = New-InstallerWorld
            $null = [IO.Directory]::CreateDirectory("$world/C/k")
            [IO.File]::WriteAllText("$world/C/k/kubelet.exe", 'x')
        }

        Context '<place>' -ForEach @(@{ place = 'C:\k' }, @{ place = 'C:\k\kubelet.exe' }) {
            BeforeAll {
                Set-Simulation -Area 'sddl' -Name $place -Value 'O:S-1-5-21-1-2-3-1001G:SYD:AI(A;OICIID;FA;;;BA)'
                $script:run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
            }

            AfterAll {
                Set-Simulation -Area 'sddl' -Name $place -Value 'O:BAG:SYD:AI(A;OICIID;FA;;;BA)'
            }

            It '<place> of a user is refused' {
                Assert-Run -Run $run -Code 2 -Text '1 obstacles'
            }
        }
    }

    It 'what administrators own is no obstacle' {
        $script:run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
        Assert-Run -Run $run -Code 0
    }

    It 'no restart without its task' {
        $script:world = New-InstallerWorld
        Set-Simulation -Area 'os' -Name 'noTasks' -Value 'yes'
        $script:run = Invoke-Installer -Folder "$world/installer"
        $run.code | Should -Be 1
    }

    It 'no restart is asked for' {
        $asked = Get-Simulation -Area 'os' -Name 'restart'
        $null -eq $asked | Should -BeTrue
    }

    It 'the reason is kept' {
        $kept = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
        $kept.Contains('Access is denied') | Should -BeTrue -Because $kept
    }
}

# The installer once more after everything is done: it brings nothing back.
Describe 'DoneInstall' -Tag 'installer' {
    It 'a second run brings nothing back' {
        $world = New-InstallerWorld
        $null = [IO.Directory]::CreateDirectory("$world/installer/artifacts")
        [IO.File]::WriteAllText("$world/installer/artifacts/large", 'x')
        $run = Invoke-Installer -Folder "$world/installer"
        $there = [IO.File]::Exists("$world/C/imagegen/artifacts/large")
        $there | Should -BeTrue -Because "the artifacts come along: $($run.text)"
        for ($turn = 1; $run.code -eq 3010 -and $turn -lt 5; $turn++) {
            Restart-World -World $world
            $run = Invoke-Installer -Folder "$world/C/imagegen"
        }
        Assert-Run -Run $run -Code 0
        # As the plan's last phase does.
        [IO.Directory]::Delete("$world/C/imagegen/artifacts", $true)
        $run = Invoke-Installer -Folder "$world/installer"
        Assert-Run -Run $run -Code 0
        $there = [IO.Directory]::Exists("$world/C/imagegen/artifacts")
        (-not $there) | Should -BeTrue -Because 'it brings no artifacts back'
    }
}

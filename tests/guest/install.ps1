# Cases of Install.ps1, of the installer for an existing machine. Loaded by run.ps1.

# A machine without a payload, and the installer in a folder of its own.
function New-InstallerWorld {
    param([string] $Source)
    $world = New-World -Source $Source
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

# Restarts as often as the installer asks, each time through the task that it registered.
function Test-InstallLife {
    param([string] $Source)
    $world = New-InstallerWorld -Source $Source
    $run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
    Assert-Run -Name 'a check finds nothing' -Run $run -Code 0
    $there = Test-Path -LiteralPath "$world/C/imagegen"
    Assert-That -Name 'a check copies nothing' -Holds (-not $there)
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'a restart is due' -Run $run -Code 3010
    $task = Get-Task -Name 'imagegen-install'
    $wanted = '-File "C:\imagegen\Install.ps1" -MinimumFreeGB 1'
    $holds = $null -ne $task -and $task.argumentLine.EndsWith($wanted) -and $task.trigger -eq 'startup'
    Assert-That -Name 'a task goes on after the restart' -Holds $holds -Detail $task
    $asked = Get-Simulation -Area 'os' -Name 'restart'
    Assert-That -Name 'the restart is asked for' -Holds ($asked -eq 'asked') -Detail $asked
    $held = [IO.File]::Create("$world/C/imagegen/install.lock")
    $run = Invoke-Installer -Folder "$world/installer"
    $held.Dispose()
    Assert-Run -Name 'no installer beside another' -Run $run -Code 2 -Text 'another installation is at work'
    $there = [IO.File]::Exists("$world/C/imagegen/guest-plan.json")
    Assert-That -Name 'the other one keeps its files' -Holds $there
    $run = @{ code = 3010; text = '' }
    $turns = 0
    while ($run.code -eq 3010 -and $turns -lt 5) {
        $turns++
        Restart-World -World $world
        # As the task starts it, or a person, with a backslash that makes no other folder.
        $run = Invoke-Installer -Folder "$world/C/imagegen" -With @{ Destination = 'C:\imagegen\' }
    }
    Assert-Run -Name 'the installation is completed' -Run $run -Code 0
    Assert-That -Name 'it took restarts' -Holds ($turns -ge 2) -Detail $turns
    $task = Get-Task -Name 'imagegen-install'
    Assert-That -Name 'the task is gone' -Holds ($null -eq $task) -Detail $task
    $progress = [IO.File]::ReadAllText("$world/C/imagegen/install.json") | ConvertFrom-Json
    Assert-That -Name 'the state is done' -Holds ($progress.state -eq 'done') -Detail $progress
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'once more from the installer' -Run $run -Code 0
    # What was changed between a restart and the checks is set again by the next run.
    $file = "$world/C/imagegen/install.json"
    [IO.File]::WriteAllText($file, [IO.File]::ReadAllText($file).Replace('"done"', '"finish"'))
    Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
    $run = Invoke-Installer -Folder "$world/C/imagegen"
    Assert-Run -Name 'a service that somebody disabled' -Run $run -Code 8
    $run = Invoke-Installer -Folder "$world/C/imagegen"
    Assert-Run -Name 'the next run sets it again' -Run $run -Code 0
}

# An installer that somebody else can write to: files that were put there are not loaded, and the folder is
# refused.
function Test-OpenInstaller {
    param([string] $Source)
    $world = New-InstallerWorld -Source $Source
    $installer = "$world/installer"
    [IO.File]::WriteAllText("$installer/engine/extra.ps1", "throw 'loaded'`n")
    $run = Invoke-Installer -Folder $installer
    Assert-Run -Name 'a script beside those of the plan' -Run $run -Code 2 -Text 'engine/extra.ps1 is no script'
    [IO.File]::Delete("$installer/engine/extra.ps1")
    # As Windows Server gives folders that an administrator makes on C:, and as a file is that a user may change.
    $rights = @{
        $installer = 'O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;CIID;LC;;;BU)(A;CIID;DC;;;BU)'
        "$installer/engine/Tools.ps1" = 'O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;0x1301bf;;;AU)'
        $world = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;;DT;;;BU)'
    }
    foreach ($place in $rights.Keys) {
        Set-Simulation -Area 'sddl' -Name $place -Value $rights[$place]
        $run = Invoke-Installer -Folder $installer
        Assert-Run -Name "rights of users in $place" -Run $run -Code 2 -Text "$place may be written by"
        Set-Simulation -Area 'sddl' -Name $place -Value $null
    }
    # An administrator's own folder, and rights of what users make in a folder above.
    $own = 'O:S-1-5-21-1-2-3-1000G:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;S-1-5-21-1-2-3-1000)'
    Set-Simulation -Area 'sddl' -Name $installer -Value $own
    $root = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)(A;OICI;0x1200a9;;;BU)'
    Set-Simulation -Area 'sddl' -Name $world -Value $root
    $run = Invoke-Installer -Folder $installer -With @{ Check = $true }
    Assert-Run -Name 'a folder of its own account is no obstacle' -Run $run -Code 0
}

# Each obstacle ends with 2 and leaves the machine as it was.
function Test-InstallRefusal {
    param([string] $Source)
    $world = New-InstallerWorld -Source $Source
    Set-Simulation -Area 'os' -Name 'shell' -Value 'this is PowerShell 7.6.5'
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'another PowerShell is refused' -Run $run -Code 2 -Text 'this is PowerShell 7.6.5'
    Set-Simulation -Area 'os' -Name 'shell' -Value $null
    $run = Invoke-Installer -Folder "$world/installer" -With @{ Destination = 'D:\imagegen' }
    Assert-Run -Name 'another folder than the plan has' -Run $run -Code 2 -Text 'the plan names C:\imagegen'
    [IO.File]::AppendAllText("$world/installer/engine/Tools.ps1", "`n")
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'a changed script of the installer' -Run $run -Code 2 -Text 'script engine/Tools.ps1 is'
    $there = Test-Path -LiteralPath "$world/C/imagegen"
    Assert-That -Name 'a refused installer is not copied' -Holds (-not $there)

    Test-OpenInstaller -Source $Source
    $world = New-InstallerWorld -Source $Source
    $null = [IO.Directory]::CreateDirectory("$world/C/imagegen")
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'the folder of a user is refused' -Run $run -Code 2 -Text 'not of an installation'

    $world = New-InstallerWorld -Source $Source
    $null = [IO.Directory]::CreateDirectory("$world/C/k")
    [IO.File]::WriteAllText("$world/C/k/kubelet.exe", 'x')
    foreach ($place in 'C:\k', 'C:\k\kubelet.exe') {
        Set-Simulation -Area 'sddl' -Name $place -Value 'O:S-1-5-21-1-2-3-1001G:SYD:AI(A;OICIID;FA;;;BA)'
        $run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
        Assert-Run -Name "$place of a user is refused" -Run $run -Code 2 -Text '1 obstacles'
        Set-Simulation -Area 'sddl' -Name $place -Value 'O:BAG:SYD:AI(A;OICIID;FA;;;BA)'
    }
    $run = Invoke-Installer -Folder "$world/installer" -With @{ Check = $true }
    Assert-Run -Name 'what administrators own is no obstacle' -Run $run -Code 0

    $world = New-InstallerWorld -Source $Source
    Set-Simulation -Area 'os' -Name 'noTasks' -Value 'yes'
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-That -Name 'no restart without its task' -Holds ($run.code -eq 1) -Detail $run.code
    $asked = Get-Simulation -Area 'os' -Name 'restart'
    Assert-That -Name 'no restart is asked for' -Holds ($null -eq $asked) -Detail $asked
    $kept = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    Assert-That -Name 'the reason is kept' -Holds $kept.Contains('Access is denied') -Detail $kept
}

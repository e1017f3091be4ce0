# Agents of platforms, sessions, and what Windows does by itself obey laws.json. Loaded by run.ps1.

# EC2Launch and GCESysprep, as the targets start them.
function Test-SealAgentLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $wanted = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    $played = @{ exitCode = 0; output = ''; imageState = $wanted }
    $program = 'C:\Program Files\Amazon\EC2Launch\EC2Launch.exe'
    foreach ($arguments in @('sysprep'), @('sysprep', '--block')) {
        $line = @($program) + $arguments -join ' '
        Set-Simulation -Area 'programs' -Name $line -Value $played
    }
    $null = Invoke-Program -Program $program -Arguments @('sysprep')
    $before = "$(Get-ImageState)"
    Step-Simulation -Moment 'minute'
    $after = "$(Get-ImageState)"
    $holds = $before -ne $wanted -and $after -eq $wanted
    $told = "'$before', a minute later '$after'"
    Assert-That -Name 'an agent without --block works on after it returned' -Holds $holds -Detail $told
    Clear-Entry -Area 'os' -Name 'imageState'
    $null = Invoke-Program -Program $program -Arguments @('sysprep', '--block')
    $after = "$(Get-ImageState)"
    Assert-That -Name 'an agent with --block has ended' -Holds ($after -eq $wanted) -Detail $after

    $world = New-World -Source $Source
    $program = 'C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe'
    $arguments = @('-File', 'C:\Program Files\Google\Compute Engine\sysprep\sysprep.ps1', '-NoShutdown')
    Set-Simulation -Area 'programs' -Name (@($program) + $arguments -join ' ') -Value $played
    $null = Invoke-Program -Program $program -Arguments $arguments
    $left = Test-BuildCertificate -Thumbprint 'C3D4'
    $script = "$world/C/Windows/Setup/Scripts/SetupComplete.cmd"
    $holds = -not $left -and [IO.File]::ReadAllText($script) -eq 'instance_setup.ps1'
    Assert-That -Name 'GCESysprep takes certificates and writes its own script' -Holds $holds -Detail $left
    Restart-World -World $world
    $holds = (Test-BuildCertificate -Thumbprint 'E7F8') -and -not [IO.File]::Exists($script)
    Assert-That -Name 'a clone of it has a listener of its own' -Holds $holds
    Assert-Run -Name 'the first boot of it' -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    $left = (Test-BuildCertificate -Thumbprint 'E7F8') -or (Test-WinrmListener -Transport 'HTTPS')
    Assert-That -Name 'its first boot closes that one, too' -Holds (-not $left)
}

# What a session may do, with the script that targets give their machines and with the first boot's own resource.
function Test-SessionLaw {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $step = [IO.File]::ReadAllText("$Provisioners/steps/950-firstboot.json") | ConvertFrom-Json
        $own = @($step.resources | Where-Object { $_.name -eq 'token-filter' })[0]
        $content.resources = @($content.resources) + [pscustomobject]@{
            name = 'firstboot/token-filter'
            step = 'firstboot'
            phase = 'firstboot'
            scope = 'image'
            timeoutSeconds = 60
            type = $own.type
            properties = $own.properties
        }
    }
    $played = @{
        'New-ItemProperty' = {
            [CmdletBinding()]
            param([string] $Path, [string] $Name, $Value, [string] $PropertyType, [switch] $Force)
            if (-not $Force) { throw 'a value that is there stops the command' }
            Set-RegistryValue -Key $Path -Name $Name -Kind $PropertyType -Data $Value
        }
    }
    $before = Test-SessionRight -Name 'packer'
    Use-Played -Functions $played -Block { & "$Provisioners/../packer/shared/token-filter.ps1" }
    $told = "$before $(Test-SessionRight -Name 'packer')"
    $holds = $told -eq 'False True'
    Assert-That -Name 'an account that is filtered has no rights in a session' -Holds $holds -Detail $told
    Assert-Run -Name 'first boot takes the rights' -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
    $left = Get-RegistryValue -Key $key -Name 'LocalAccountTokenFilterPolicy'
    Assert-That -Name 'no node keeps them' -Holds ($null -eq $left) -Detail $left
}

# Windows' own updates, and tasks that are made of XML or begin at an hour.
function Test-OwnUpdateLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    Step-Simulation -Moment 'day'
    $told = Install-Hotfix -Package 'C:\windows-KB5000004.msu'
    $holds = (Test-PendingRestart) -and $told -eq 'busy'
    Assert-That -Name 'updates of Windows itself wait for a restart' -Holds $holds -Detail $told
    $null = New-World -Source $Source
    $step = [IO.File]::ReadAllText("$Provisioners/steps/020-os-baseline.json") | ConvertFrom-Json
    $off = @($step.resources | Where-Object { $_.name -eq 'no-automatic-updates' })[0]
    $value = $off.properties
    Set-RegistryValue -Key $value.key -Name $value.valueName -Kind $value.kind -Data $value.data
    Step-Simulation -Moment 'day'
    $holds = $off.phase -eq 'bootstrap' -and -not (Test-PendingRestart)
    Assert-That -Name 'they are off from the bootstrap on' -Holds $holds -Detail $off.phase
}

function Test-TaskLaw {
    param([string] $Source)
    $world = New-World -Source $Source
    $schtasks = 'C:\Windows\System32\schtasks.exe'
    $arguments = @('/create', '/tn', 'imagegen-install', '/xml', 'C:\task.xml', '/f')
    $own = [IO.File]::ReadAllText("$Provisioners/../packer/targets/media/install-task.xml")
    [IO.File]::WriteAllText("$world/C/task.xml", $own.Replace('?>', ' encoding="UTF-8"?>'))
    $run = Invoke-Program -Program $schtasks -Arguments $arguments
    $holds = $run.exitCode -eq 1 -and $null -eq (Get-Task -Name 'imagegen-install')
    Assert-That -Name 'a task whose XML says UTF-8 is refused' -Holds $holds -Detail $run.output
    [IO.File]::WriteAllText("$world/C/task.xml", $own)
    $run = Invoke-Program -Program $schtasks -Arguments $arguments
    $task = Get-Task -Name 'imagegen-install'
    $holds = $run.exitCode -eq 0 -and $task.argumentLine.EndsWith('-File C:\imagegen-disc\Install.ps1)')
    Assert-That -Name 'a task of XML without encoding is made' -Holds $holds -Detail $run.output

    $text = [IO.File]::ReadAllText("$Provisioners/engine/windows/tasks.ps1")
    $boundary = [regex]::Match($text, "StartBoundary = '([^']+)'").Groups[1].Value
    $moved = Get-StartHour -Boundary '2020-01-01T02:00:00Z' -Zone -8
    Assert-That -Name 'a moment of UTC is another hour on a clone' -Holds ($moved -eq 18) -Detail $moved
    $hours = @(foreach ($zone in -8, 0, 9) { Get-StartHour -Boundary $boundary -Zone $zone }) -join ' '
    Assert-That -Name 'a daily task begins at its hour in each zone' -Holds ($hours -eq '3 3 3') -Detail $hours
}

# A listener without a certificate is closed like the others.
function Test-PlainListenerLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    New-WinrmListener -Transport 'HTTP'
    $found = "$(Get-ListenerThumbprint -Transport 'HTTP')"
    $holds = (Test-WinrmListener -Transport 'HTTP') -and $found -eq ''
    Assert-That -Name 'a listener of HTTP has no certificate' -Holds $holds -Detail $found
    $world = New-World -Source $Source -Edit {
        param($content)
        foreach ($resource in $content.resources) {
            if ($resource.type -eq 'winrmListener') { $resource.properties.transport = 'HTTP' }
        }
    }
    Clear-Entry -Area 'listeners' -Name 'HTTPS'
    New-WinrmListener -Transport 'HTTP'
    $run = Invoke-Engine -World $world -Phase 'firstboot'
    Assert-Run -Name 'a listener of HTTP is closed' -Run $run -Code 0
    $left = Test-WinrmListener -Transport 'HTTP'
    Assert-That -Name 'no listener of HTTP is left' -Holds (-not $left)
}

# Agents of platforms, sessions, and what Windows does by itself obey laws.json.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# EC2Launch and GCESysprep, as the targets start them.
Describe 'SealAgentLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
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
    }

    It 'an agent without --block works on after it returned' {
        $holds | Should -BeTrue -Because $told
    }

    It 'an agent with --block has ended' {
        Clear-Entry -Area 'os' -Name 'imageState'
        $null = Invoke-Program -Program $program -Arguments @('sysprep', '--block')
        $after = "$(Get-ImageState)"
        $after | Should -Be $wanted
    }

    It 'GCESysprep takes certificates and writes its own script' {
        $script:world = New-World
        $program = 'C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe'
        $arguments = @('-File', 'C:\Program Files\Google\Compute Engine\sysprep\sysprep.ps1', '-NoShutdown')
        Set-Simulation -Area 'programs' -Name (@($program) + $arguments -join ' ') -Value $played
        $null = Invoke-Program -Program $program -Arguments $arguments
        $left = Test-BuildCertificate -Thumbprint 'C3D4'
        $script:script = "$world/C/Windows/Setup/Scripts/SetupComplete.cmd"
        $left | Should -BeFalse -Because $left
        [IO.File]::ReadAllText($script) | Should -Be 'instance_setup.ps1' -Because $left
    }

    It 'a clone of it has a listener of its own' {
        Restart-World -World $world
        (Test-BuildCertificate -Thumbprint 'E7F8') | Should -BeTrue
        [IO.File]::Exists($script) | Should -BeFalse
    }

    It 'the first boot of it' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    }

    It 'its first boot closes that one, too' {
        $left = (Test-BuildCertificate -Thumbprint 'E7F8') -or (Test-WinrmListener -Transport 'HTTPS')
        $left | Should -BeFalse
    }
}

# What a session may do, with the script that targets give their machines and with the first boot's own resource.
Describe 'SessionLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-InstalledWorld -Edit {
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
                param([string] $LiteralPath, [string] $Name, $Value, [string] $PropertyType, [switch] $Force)
                if (-not $Force) { throw 'a value that is there stops the command' }
                Set-RegistryValue -Key $LiteralPath -Name $Name -Kind $PropertyType -Data $Value
            }
        }
        $before = Test-SessionRight -Name 'packer'
        Use-Played -Functions $played -Block { & "$Provisioners/../packer/shared/token-filter.ps1" }
        $told = "$before $(Test-SessionRight -Name 'packer')"
    }

    It 'an account that is filtered has no rights in a session' {
        $told | Should -Be 'False True'
    }

    It 'first boot takes the rights' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    }

    It 'no node keeps them' {
        $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
        $left = Get-RegistryValue -Key $key -Name 'LocalAccountTokenFilterPolicy'
        $null -eq $left | Should -BeTrue
    }
}

# Windows' own updates, and tasks that are made of XML or begin at an hour.
Describe 'OwnUpdateLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        Step-Simulation -Moment 'day'
        $told = Install-Hotfix -Package 'C:\windows-KB5000004.msu'
    }

    It 'updates of Windows itself wait for a restart' {
        (Test-PendingRestart) | Should -BeTrue -Because $told
        $told | Should -Be 'busy'
    }

    It 'they are off from the bootstrap on' {
        $null = New-World
        $step = [IO.File]::ReadAllText("$Provisioners/steps/020-os-baseline.json") | ConvertFrom-Json
        $off = @($step.resources | Where-Object { $_.name -eq 'no-automatic-updates' })[0]
        $value = $off.properties
        Set-RegistryValue -Key $value.key -Name $value.valueName -Kind $value.kind -Data $value.data
        Step-Simulation -Moment 'day'
        $off.phase | Should -Be 'bootstrap'
        (Test-PendingRestart) | Should -BeFalse -Because $off.phase
    }
}

Describe 'TaskLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $schtasks = 'C:\Windows\System32\schtasks.exe'
        $arguments = @('/create', '/tn', 'imagegen-install', '/xml', 'C:\task.xml', '/f')
        $own = [IO.File]::ReadAllText("$Provisioners/../packer/targets/media/install-task.xml")
        [IO.File]::WriteAllText("$world/C/task.xml", $own.Replace('?>', ' encoding="UTF-8"?>'))
        $run = Invoke-Program -Program $schtasks -Arguments $arguments
    }

    It 'a task whose XML says UTF-8 is refused' {
        $run.exitCode | Should -Be 1 -Because $run.output
        $null -eq (Get-Task -Name 'imagegen-install') | Should -BeTrue -Because $run.output
    }

    It 'a task of XML without encoding is made' {
        [IO.File]::WriteAllText("$world/C/task.xml", $own)
        $run = Invoke-Program -Program $schtasks -Arguments $arguments
        $task = Get-Task -Name 'imagegen-install'
        $run.exitCode | Should -Be 0 -Because $run.output
        $task.argumentLine.EndsWith('-File C:\imagegen-disc\Install.ps1)') | Should -BeTrue -Because $run.output
    }

    It 'a moment of UTC is another hour on a clone' {
        $text = [IO.File]::ReadAllText("$Provisioners/engine/windows/tasks.ps1")
        $script:boundary = [regex]::Match($text, "StartBoundary = '([^']+)'").Groups[1].Value
        $moved = Get-StartHour -Boundary '2020-01-01T02:00:00Z' -Zone -8
        $moved | Should -Be 18
    }

    It 'a daily task begins at its hour in each zone' {
        $hours = @(foreach ($zone in -8, 0, 9) { Get-StartHour -Boundary $boundary -Zone $zone }) -join ' '
        $hours | Should -Be '3 3 3'
    }
}

# A listener without a certificate is closed like the others.
Describe 'PlainListenerLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        New-WinrmListener -Transport 'HTTP'
        $found = "$(Get-ListenerThumbprint -Transport 'HTTP')"
    }

    It 'a listener of HTTP has no certificate' {
        (Test-WinrmListener -Transport 'HTTP') | Should -BeTrue -Because $found
        $found | Should -Be ''
    }

    It 'a listener of HTTP is closed' {
        $world = New-World -Edit {
            param($content)
            foreach ($resource in $content.resources) {
                if ($resource.type -eq 'winrmListener') { $resource.properties.transport = 'HTTP' }
            }
        }
        Clear-Entry -Area 'listeners' -Name 'HTTPS'
        New-WinrmListener -Transport 'HTTP'
        $run = Invoke-Engine -World $world -Phase 'firstboot'
        Assert-Run -Run $run -Code 0
    }

    It 'no listener of HTTP is left' {
        $left = Test-WinrmListener -Transport 'HTTP'
        $left | Should -BeFalse
    }
}

# A session of the network, which Packer's is: what Windows refuses in it, and that the engine asks SYSTEM for it.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # What a program answers to an account: servicing and the update agent refuse everybody but SYSTEM here, which
    # is what they do in a session of the network (0x80070005, https://github.com/hashicorp/packer/issues/9345).
    function Invoke-SessionProgram {
        param([string] $Program, [string] $Line, [string] $User)
        $script:Asked = "$($Program.Split('\')[-1]) $Line"
        if ($User -ne 'S-1-5-18') { return 2147942405 }
        if ($Line -match '-Result "([^"]+)"') {
            $found = @{ missing = @(); offered = @(); failed = @(); busy = $false; restart = $true; error = '' }
            [IO.File]::WriteAllText($Matches[1].Replace('\', '/'), (ConvertTo-Json -InputObject $found))
        }
        3010
    }

    $refused = {
        throw (New-Object -TypeName UnauthorizedAccessException -ArgumentList 'Access is denied. (0x80070005)')
    }
    $script:PlayedSession = @{
        'Add-WindowsCapability' = $refused
        'Remove-WindowsCapability' = $refused
        'Start-Process' = $refused
        'Invoke-Native' = {
            param([string] $Program, [string[]] $Arguments, [string] $ArgumentLine)
            $code = Invoke-SessionProgram -Program $Program -Line $ArgumentLine -User 'administrator'
            throw "$Program exited with $code"
        }
        'New-ScheduledTaskAction' = {
            [CmdletBinding()]
            param([string] $Execute, [string] $Argument)
            @{ program = $Execute; line = $Argument }
        }
        'New-ScheduledTaskPrincipal' = {
            [CmdletBinding()]
            param([string] $UserId, [string] $LogonType, [string] $RunLevel)
            @{ user = $UserId; rights = "$LogonType $RunLevel" }
        }
        'New-ScheduledTaskSettingsSet' = {
            [CmdletBinding()]
            param([switch] $AllowStartIfOnBatteries, [switch] $DontStopIfGoingOnBatteries,
                [switch] $StartWhenAvailable, [int] $Priority)
            @{ ExecutionTimeLimit = 'PT72H' }
        }
        'Register-ScheduledTask' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath, $Action, $Principal, $Settings, [switch] $Force)
            $script:Task = @{ action = $Action; user = $Principal.user; result = 267011 }
        }
        'Start-ScheduledTask' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath)
            $run = @{ Program = $script:Task.action.program; Line = $script:Task.action.line }
            $script:Task.result = Invoke-SessionProgram @run -User $script:Task.user
        }
        'Get-ScheduledTaskInfo' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath)
            [pscustomobject]@{ LastTaskResult = $script:Task.result }
        }
        'Unregister-ScheduledTask' = {
            [CmdletBinding(SupportsShouldProcess)]
            param([string] $TaskName, [string] $TaskPath)
            $script:Task = $null
        }
    }

    # Runs a block with the abilities as Windows has them.
    function Use-Ability {
        param([string[]] $File, [scriptblock] $Block)
        $script:System32 = 'C:\Windows\System32'
        foreach ($name in $File) { . "$Provisioners/engine/windows/$name.ps1" }
        . $Block
    }
}

Describe 'NetworkSession' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $script:Root = "$world/C/imagegen"
        $null = [IO.Directory]::CreateDirectory("$script:Root/state")
        $script:Task = $null
        Start-Deadline -Name 'session' -Seconds 60
        Add-Played -Functions $script:PlayedSession
    }

    AfterAll {
        Remove-Played -Functions $script:PlayedSession
    }

    It 'a session of the network services nothing by itself' {
        Get-Refusal -Block { Add-WindowsCapability -Online -Name 'x' } | Should -BeLike '*0x80070005*'
        Invoke-SessionProgram -Program 'wusa.exe' -Line '' -User 'administrator' | Should -Be 2147942405
    }

    It 'an update is installed by SYSTEM on build <build>' -ForEach @(
        @{ build = 20348; program = 'wusa.exe' }, @{ build = 26100; program = 'Dism.exe' }
    ) {
        Set-Simulation -Area 'os' -Name 'build' -Value @{ build = $build; revision = 1 }
        Use-Ability -File 'tasks', 'updates' -Block { Install-Hotfix -Package 'C:\x.msu' } | Should -Be 'restart'
        $script:Asked | Should -BeLike "$program*"
    }

    It 'a capability is added by SYSTEM' {
        $block = { Set-Capability -Name 'Tools~~~~0.0.1.0' -Installed $true }
        Use-Ability -File 'tasks', 'features' -Block $block | Should -BeTrue
        $script:Asked | Should -BeLike 'Dism.exe /Online /Add-Capability *'
    }

    It 'the update agent is asked by SYSTEM' {
        $found = Use-Ability -File 'tasks', 'updates' -Block { Invoke-UpdateAgent -Kbs 'KB1' -Install $true }
        $found.restart | Should -BeTrue
    }

    It 'no task is left' {
        $script:Task | Should -Be $null
    }
}

# What stands for Windows is a service and a command; where an antivirus was removed, its commands may be left.
Describe 'DefenderLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $played = @{ 'Get-MpPreference' = { throw '0x800106ba' } }
        Add-Played -Functions $played
    }

    AfterAll {
        Remove-Played -Functions $played
    }

    It 'a Defender that was removed is not asked' {
        Use-Ability -File 'defender' -Block { Test-Defender } | Should -BeFalse
    }

    It 'a Defender that is there is' {
        New-LawService -Name 'WinDefend'
        Use-Ability -File 'defender' -Block { Test-Defender } | Should -BeTrue
    }
}

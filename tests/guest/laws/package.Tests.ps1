# Packages of users, in a session of the network and on Server Core, with functions in the place of commands.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    $script:PlayedPackages = @(
        @{ Name = 'Microsoft.MicrosoftEdge.Stable'; Kind = 'Developer'; Framework = $false; Fixed = $false }
        @{ Name = 'Microsoft.VCLibs.140.00'; Kind = 'Store'; Framework = $true; Fixed = $false }
        @{ Name = 'Microsoft.Windows.ShellExperienceHost'; Kind = 'System'; Framework = $false; Fixed = $true }
        @{ Name = 'Microsoft.SecHealthUI'; Kind = 'Store'; Framework = $false; Fixed = $false }
    )

    $script:PlayedAppx = @{
        'Get-ItemProperty' = {
            [CmdletBinding()]
            param([string] $LiteralPath)
            $edition = Get-Simulation -Area 'os' -Name 'edition'
            if ($LiteralPath.EndsWith('CurrentVersion')) { [pscustomobject]@{ InstallationType = "$edition" } }
        }
        'Get-AppxProvisionedPackage' = {
            [CmdletBinding()]
            param([switch] $Online)
            $left = [int](Get-Simulation -Area 'os' -Name 'appxFails')
            if ($left -gt 0) {
                Set-Simulation -Area 'os' -Name 'appxFails' -Value ($left - 1)
                throw 'The request is not supported.'
            }
            if ($Online) { [pscustomobject]@{ DisplayName = 'Microsoft.SecHealthUI' } }
        }
        'Get-AppxPackage' = {
            [CmdletBinding()]
            param([switch] $AllUsers)
            if (-not $AllUsers) { throw 'only the packages of all users count' }
            foreach ($package in $script:PlayedPackages) {
                if ($package.Name -eq "$(Get-Simulation -Area 'os' -Name 'removed')") { continue }
                [pscustomobject]@{
                    Name = $package.Name
                    PackageFullName = "$($package.Name)_1.0_x64"
                    SignatureKind = $package.Kind
                    IsFramework = $package.Framework
                    NonRemovable = $package.Fixed
                    PackageUserInformation = 'S-1-5-21-1-2-3-500: Installed'
                }
            }
        }
        'Remove-AppxPackage' = {
            [CmdletBinding()]
            param([switch] $AllUsers, [string] $Package)
            if (-not $AllUsers) { throw 'the package stays for the others' }
            # A session of the network has no profile: An error occurred because a user was logged off.
            if ($script:PlayedUser -ne 'S-1-5-18') { throw '0x80073D19' }
            $name = @($Package.Split('_'))[0]
            Set-Simulation -Area 'os' -Name 'removed' -Value $name
            Clear-Entry -Area 'os' -Name 'userPackages'
        }
        'New-ScheduledTaskAction' = {
            [CmdletBinding()]
            param([string] $Execute, [string] $Argument)
            [pscustomobject]@{ program = $Execute; line = $Argument }
        }
        'New-ScheduledTaskPrincipal' = {
            [CmdletBinding()]
            param([string] $UserId, [string] $LogonType, [string] $RunLevel)
            [pscustomobject]@{ user = $UserId; rights = "$LogonType $RunLevel" }
        }
        'Register-ScheduledTask' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath, $Action, $Principal, [switch] $Force)
            if (-not $Force) { throw 'a task that an earlier run left is in the way' }
            $script:PlayedTask = @{ name = "$TaskPath$TaskName"; action = $Action; principal = $Principal }
        }
        'Start-ScheduledTask' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath)
            if ($script:PlayedTask.name -ne "$TaskPath$TaskName") { throw 'no such task' }
            $code = $script:PlayedTask.action.line -replace '^.*-EncodedCommand ', ''
            $text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($code))
            $script:PlayedUser = $script:PlayedTask.principal.user
            try { & ([scriptblock]::Create($text)) } finally { $script:PlayedUser = 'administrator' }
        }
        'Get-ScheduledTaskInfo' = {
            [CmdletBinding()]
            param([string] $TaskName, [string] $TaskPath)
            if ($script:PlayedTask.name -eq "$TaskPath$TaskName") { [pscustomobject]@{ LastTaskResult = 0 } }
        }
        'Unregister-ScheduledTask' = {
            [CmdletBinding(SupportsShouldProcess)]
            param([string] $TaskName, [string] $TaskPath)
            if ($script:PlayedTask.name -eq "$TaskPath$TaskName") { $script:PlayedTask = $null }
        }
        'Start-Sleep' = {
            param([int] $Seconds)
            if ($Seconds -le 0) { throw 'no time to wait' }
        }
    }
}

Describe 'UserPackageLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        [IO.File]::WriteAllText("$world/C/answers.xml", '<unattend/>')
        Set-Simulation -Area 'os' -Name 'userPackages' -Value 'Microsoft.MicrosoftEdge.Stable'
        Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_COMPLETE'
        $sysprep = @{ Unattend = 'C:\answers.xml'; Finish = 'quit' }
        $step = @{ Step = '900-seal'; Name = 'user-packages' }
        Invoke-Sysprep @sysprep
        $told = Get-ImageState
    }

    It 'Sysprep refuses a package of one user' {
        $told | Should -Be 'IMAGE_STATE_COMPLETE'
        ((Get-SysprepLine) -match '0x80073cf2') | Should -BeTrue -Because $told
    }

    Context 'with packages of users' {
        BeforeAll {
            # Packer's session.
            $script:PlayedUser = 'administrator'
            $script:PlayedTask = $null
            $mark = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath 'packages.txt'
            [IO.File]::Delete($mark)
            Add-Played -Functions $script:PlayedAppx
        }

        AfterAll {
            Remove-Played -Functions $script:PlayedAppx
            [IO.File]::Delete($mark)
        }

        It 'a session of the network removes no package' {
            $why = Get-Refusal -Block {
                Remove-AppxPackage -AllUsers -Package 'Microsoft.MicrosoftEdge.Stable_1.0_x64'
            }
            $why | Should -Be '0x80073D19'
        }

        It 'Server Core has none, though its query throws' {
            Set-Simulation -Area 'os' -Name 'edition' -Value 'Server Core'
            Set-Simulation -Area 'os' -Name 'appxFails' -Value 99
            Invoke-StepScript @step -Part 'test' | Should -Be 'none'
        }

        It 'Server Core has none, where its query gives nothing' {
            Set-Simulation -Area 'os' -Name 'appxFails' -Value 0
            $there, $script:PlayedPackages = $script:PlayedPackages, @()
            Invoke-StepScript @step -Part 'test' | Should -Be 'none'
            Set-Simulation -Area 'os' -Name 'edition' -Value 'Server'
            Invoke-StepScript @step -Part 'test' | Should -Be 'none'
            $script:PlayedPackages = $there
            Set-Simulation -Area 'os' -Name 'appxFails' -Value 99
        }

        It 'a query that throws elsewhere says why' {
            Set-Simulation -Area 'os' -Name 'edition' -Value 'Server'
            Invoke-StepScript @step -Part 'test' | Should -Be 'unknown: The request is not supported.'
        }

        It 'a query that fails is tried again' {
            $before = [int](Get-Simulation -Area 'os' -Name 'appxFails')
            $null = Invoke-StepScript @step -Part 'set'
            $after = [int](Get-Simulation -Area 'os' -Name 'appxFails')
            $before - $after | Should -Be 4
        }

        It 'and counts as none in the end' {
            Invoke-StepScript @step -Part 'test' | Should -Be 'none'
            [IO.File]::Exists($mark) | Should -BeTrue
        }

        It 'only the package of one user is found' {
            [IO.File]::Delete($mark)
            Set-Simulation -Area 'os' -Name 'appxFails' -Value 0
            Invoke-StepScript @step -Part 'test' | Should -Be 'Microsoft.MicrosoftEdge.Stable_1.0_x64'
        }

        It 'the package of one user is removed by SYSTEM' {
            $null = Invoke-StepScript @step -Part 'set'
            Invoke-StepScript @step -Part 'test' | Should -Be 'none'
        }

        It 'and no task is left' {
            $script:PlayedTask | Should -Be $null
            [IO.File]::Exists($mark) | Should -BeFalse
        }
    }

    It 'Sysprep goes on without it' {
        Invoke-Sysprep @sysprep
        $told = Get-ImageState
        $told | Should -Be 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    }
}

# Scripts of steps, with functions in the place of commands of Windows: each is run as the plan has it, and its
# test is asked before and after.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # A disk as Windows Setup lays it out: a recovery partition directly behind the system volume, and an end that
    # is no multiple of 1 MiB.
    function New-PlayedDisk {
        $system = [pscustomobject]@{ DriveLetter = 'C'; DiskNumber = 0; Offset = 122683392; Size = 32212254720 }
        $kinds = '{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}', '{de94bba4-06d1-4d40-a16a-bfd50179d6ac}'
        $system | Add-Member -NotePropertyName 'GptType' -NotePropertyValue $kinds[0]
        $recovery = [pscustomobject]@{ DriveLetter = ''; DiskNumber = 0; Offset = 32334938112; Size = 549453824 }
        $recovery | Add-Member -NotePropertyName 'GptType' -NotePropertyValue $kinds[1]
        foreach ($partition in $system, $recovery) {
            $partition | Add-Member -NotePropertyName 'MbrType' -NotePropertyValue $null
        }
        @{ partitions = @($system, $recovery); end = 68719459840 }
    }

    $script:PlayedStorage = @{
        'Get-Partition' = {
            [CmdletBinding()]
            param([string] $DriveLetter, [int] $DiskNumber)
            $script:Disk.partitions | Where-Object { -not $DriveLetter -or $_.DriveLetter -eq $DriveLetter } |
                Where-Object { $_.DiskNumber -eq $DiskNumber }
        }
        'Get-PartitionSupportedSize' = {
            [CmdletBinding()]
            param([string] $DriveLetter)
            $volume = $script:Disk.partitions | Where-Object { $_.DriveLetter -eq $DriveLetter }
            $end = $script:Disk.end
            foreach ($other in $script:Disk.partitions) {
                if ($other.Offset -gt $volume.Offset) { $end = $other.Offset }
            }
            [pscustomobject]@{ SizeMin = 20000000000; SizeMax = $end - $volume.Offset }
        }
        'Resize-Partition' = {
            [CmdletBinding()]
            param([string] $DriveLetter, [long] $Size)
            if ($Size % 1048576 -ne 0) { throw 'The size of the extent is less than the minimum of 1MB' }
            $volume = $script:Disk.partitions | Where-Object { $_.DriveLetter -eq $DriveLetter }
            $volume.Size = $Size
        }
        'Remove-Partition' = {
            [CmdletBinding(SupportsShouldProcess)]
            param([Parameter(ValueFromPipeline)] $InputObject)
            process {
                $left = @($script:Disk.partitions | Where-Object { $_.Offset -ne $InputObject.Offset })
                $script:Disk.partitions = $left
            }
        }
    }

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

    $script:PlayedPackage = @{
        'Start-Sleep' = {
            param([int] $Seconds)
            if ($Seconds -gt 0) { $script:Before.left-- }
        }
        'Get-ChildItem' = {
            [CmdletBinding()]
            param([string] $Path)
            if (-not $script:Before.installed -or -not $Path.EndsWith('Uninstall')) { return }
            $key = [pscustomobject]@{ PSChildName = '{0C0FFEE0-0000-0000-0000-000000000001}' }
            $key | Add-Member -MemberType ScriptMethod -Name 'GetValue' -Value { 'Cloudbase-Init 1.1.2' }
            $key
        }
        'Get-CimInstance' = {
            [CmdletBinding()]
            param([string] $ClassName, [string] $Filter)
            if (-not $script:Before.installed -or "$ClassName $Filter" -notlike "*'cloudbase-init'") { return }
            $state = 'Running'
            if ($script:Before.left -le 0) { $state = 'Stopped' }
            [pscustomobject]@{ StartName = '.\cloudbase-init'; State = $state }
        }
        'Start-Removal' = {
            param([string] $Line)
            if ($script:Before.left -gt 0) { throw 'the files of the service are in use' }
            $script:Before.installed = $false
            $script:Before.removed = $Line
            $process = [pscustomobject]@{ ExitCode = 0 }
            $process | Add-Member -MemberType ScriptMethod -Name 'WaitForExit' -Value { $null }
            $process
        }
    }
}

Describe 'DiskLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $script:Disk = New-PlayedDisk
        $volume = @{ Step = '012-disk'; Name = 'system-volume' }
        $recovery = @{ Step = '012-disk'; Name = 'recovery-partition' }
        # 2: Windows RE was off already.
        $call = @{ Call = '& "$env:SystemRoot\System32\reagentc.exe" /disable'; Instead = "& sh -c 'exit 2'" }
    }

    Context 'with the disk of the machine' {
        BeforeAll {
            Add-Played -Functions $script:PlayedStorage
            $told = Invoke-StepScript @volume -Part 'test'
        }

        AfterAll {
            Remove-Played -Functions $script:PlayedStorage
        }

        It 'a partition behind the system volume hides the space' {
            $told | Should -Be 'as large as its disk'
        }

        It 'it is found' {
            $told = Invoke-StepScript @recovery -Part 'test'
            $told | Should -Be 'one behind the system volume'
        }

        It 'it is removed' {
            $null = Invoke-StepScript @recovery @call -Part 'set'
            $told = Invoke-StepScript @recovery -Part 'test'
            $told | Should -Be 'none behind the system volume'
        }

        It 'a size that is no multiple of 1 MiB is refused' {
            $played = Get-Command -Name 'Resize-Partition' -CommandType Function
            {
                & $played -DriveLetter 'C' -Size ($script:Disk.end - $script:Disk.partitions[0].Offset)
            } | Should -Throw
        }

        It 'the space is seen' {
            $told = Invoke-StepScript @volume -Part 'test'
            $told | Should -Be 'smaller than its disk'
        }

        It 'the system volume takes it' {
            $null = Invoke-StepScript @volume -Part 'set'
            $told = Invoke-StepScript @volume -Part 'test'
            $size = $script:Disk.partitions[0].Size
            $told | Should -Be 'as large as its disk' -Because "$told, $size"
            $size | Should -BeGreaterThan 68000000000 -Because "$told, $size"
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

Describe 'PackageBeforeLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $script:Before = @{ left = 3; installed = $true; removed = '' }
        $package = @{ Step = '150-cloudbase-init'; Name = 'package-before' }
        $call = @{ Call = '[Diagnostics.Process]::Start("$env:SystemRoot\System32\msiexec.exe", $line)' }
        $call.Instead = 'Start-Removal -Line $line'
    }

    Context 'with a package of the base image' {
        BeforeAll {
            Add-Played -Functions $script:PlayedPackage
            $told = Invoke-StepScript @package -Part 'test'
        }

        AfterAll {
            Remove-Played -Functions $script:PlayedPackage
        }

        It 'a package of another account is found' {
            $told | Should -Be 'another'
        }

        It 'it is found no more' {
            $null = Invoke-StepScript @package @call -Part 'set'
            $told = Invoke-StepScript @package -Part 'test'
            $told | Should -Be 'none'
        }
    }

    It 'a package that was there before is waited for and removed' {
        $line = $script:Before.removed
        ($script:Before.left -le 0) | Should -BeTrue -Because $line
        $line.StartsWith('/x {0C0FFEE0') | Should -BeTrue -Because $line
    }
}

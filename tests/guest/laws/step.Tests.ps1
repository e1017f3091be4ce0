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

    $script:PlayedPackage = @{
        'Start-Sleep' = {
            param([int] $Seconds)
            if ($Seconds -gt 0) { $script:Before.left-- }
        }
        'Get-ChildItem' = {
            [CmdletBinding()]
            param([string] $LiteralPath)
            if (-not $script:Before.installed -or -not $LiteralPath.EndsWith('Uninstall')) { return }
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

# Scripts of steps, with functions in the place of commands of Windows: each is run as the plan has it, and its
# test is asked before and after. Loaded by run.ps1.

# Runs a block while functions stand before the commands of Windows.
function Use-Played {
    param([hashtable] $Functions, [scriptblock] $Block)
    foreach ($name in $Functions.Keys) {
        $null = New-Item -Path "function:global:$name" -Value $Functions[$name] -Force
    }
    try {
        & $Block
    } finally {
        foreach ($name in $Functions.Keys) { Remove-Item -LiteralPath "function:$name" }
    }
}

# The text of a step's script, `test` or `set`.
function Get-StepScript {
    param([string] $Step, [string] $Name, [string] $Part)
    $content = [IO.File]::ReadAllText("$Provisioners/steps/$Step.json") | ConvertFrom-Json
    $found = @($content.resources | Where-Object { $_.name -eq $Name })
    if ($found.Count -ne 1) { throw "the step $Step has $($found.Count) resources named $Name" }
    $folder = [IO.Path]::GetTempPath()
    "$($found[0].properties.$Part)".Replace('{{ paths.state | literal }}', "'$folder'")
}

# Runs it. A program that no function can stand for is replaced in the text.
function Invoke-StepScript {
    param([string] $Step, [string] $Name, [string] $Part, [string] $Call = '', [string] $Instead = '')
    $text = Get-StepScript -Step $Step -Name $Name -Part $Part
    if ($Call) {
        if (-not $text.Contains($Call)) { throw "$Step/$Name does not call $Call" }
        $text = $text.Replace($Call, $Instead)
    }
    "$(& ([scriptblock]::Create($text)))"
}

# A disk as Windows Setup lays it out: a recovery partition directly behind the system volume, and an end that is
# no multiple of 1 MiB.
function New-PlayedDisk {
    $system = [pscustomobject]@{ DriveLetter = 'C'; DiskNumber = 0; Offset = 122683392; Size = 32212254720 }
    $system | Add-Member -NotePropertyName 'GptType' -NotePropertyValue '{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}'
    $recovery = [pscustomobject]@{ DriveLetter = ''; DiskNumber = 0; Offset = 32334938112; Size = 549453824 }
    $recovery | Add-Member -NotePropertyName 'GptType' -NotePropertyValue '{de94bba4-06d1-4d40-a16a-bfd50179d6ac}'
    foreach ($partition in $system, $recovery) {
        $partition | Add-Member -NotePropertyName 'MbrType' -NotePropertyValue $null
    }
    @{ partitions = @($system, $recovery); end = 68719459840 }
}

# Commands of the module Storage, for the disk in $script:Disk.
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

function Test-DiskLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $script:Disk = New-PlayedDisk
    $volume = @{ Step = '012-disk'; Name = 'system-volume' }
    $recovery = @{ Step = '012-disk'; Name = 'recovery-partition' }
    # 2: Windows RE was off already.
    $call = @{ Call = '& "$env:SystemRoot\System32\reagentc.exe" /disable'; Instead = "& sh -c 'exit 2'" }
    Use-Played -Functions $script:PlayedStorage -Block {
        $told = Invoke-StepScript @volume -Part 'test'
        $holds = $told -eq 'as large as its disk'
        Assert-That -Name 'a partition behind the system volume hides the space' -Holds $holds -Detail $told
        $told = Invoke-StepScript @recovery -Part 'test'
        Assert-That -Name 'it is found' -Holds ($told -eq 'one behind the system volume') -Detail $told
        $null = Invoke-StepScript @recovery @call -Part 'set'
        $told = Invoke-StepScript @recovery -Part 'test'
        Assert-That -Name 'it is removed' -Holds ($told -eq 'none behind the system volume') -Detail $told

        $played = Get-Command -Name 'Resize-Partition' -CommandType Function
        Assert-Throw -Name 'a size that is no multiple of 1 MiB is refused' -Block {
            & $played -DriveLetter 'C' -Size ($script:Disk.end - $script:Disk.partitions[0].Offset)
        }
        $told = Invoke-StepScript @volume -Part 'test'
        Assert-That -Name 'the space is seen' -Holds ($told -eq 'smaller than its disk') -Detail $told
        $null = Invoke-StepScript @volume -Part 'set'
        $told = Invoke-StepScript @volume -Part 'test'
        $size = $script:Disk.partitions[0].Size
        $holds = $told -eq 'as large as its disk' -and $size -gt 68000000000
        Assert-That -Name 'the system volume takes it' -Holds $holds -Detail "$told, $size"
    }
}

# Packages of users: Edge after it updated itself, and three that stay.
$script:PlayedPackages = @(
    @{ Name = 'Microsoft.MicrosoftEdge.Stable'; Kind = 'Developer'; Framework = $false; Fixed = $false }
    @{ Name = 'Microsoft.VCLibs.140.00'; Kind = 'Store'; Framework = $true; Fixed = $false }
    @{ Name = 'Microsoft.Windows.ShellExperienceHost'; Kind = 'System'; Framework = $false; Fixed = $true }
    @{ Name = 'Microsoft.SecHealthUI'; Kind = 'Store'; Framework = $false; Fixed = $false }
)
$script:PlayedAppx = @{
    'Get-AppxProvisionedPackage' = {
        [CmdletBinding()]
        param([switch] $Online)
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
        $name = @($Package.Split('_'))[0]
        Set-Simulation -Area 'os' -Name 'removed' -Value $name
        Clear-Entry -Area 'os' -Name 'userPackages'
    }
}

function Test-UserPackageLaw {
    param([string] $Source)
    $world = New-World -Source $Source
    [IO.File]::WriteAllText("$world/C/answers.xml", '<unattend/>')
    Set-Simulation -Area 'os' -Name 'userPackages' -Value 'Microsoft.MicrosoftEdge.Stable'
    Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_COMPLETE'
    $sysprep = @{ Unattend = 'C:\answers.xml'; Finish = 'quit' }
    $step = @{ Step = '900-seal'; Name = 'user-packages' }
    Invoke-Sysprep @sysprep
    $told = Get-ImageState
    $holds = $told -eq 'IMAGE_STATE_COMPLETE' -and (Get-SysprepError) -match '0x80073cf2'
    Assert-That -Name 'Sysprep refuses a package of one user' -Holds $holds -Detail $told
    Use-Played -Functions $script:PlayedAppx -Block {
        $told = Invoke-StepScript @step -Part 'test'
        $holds = $told -eq 'Microsoft.MicrosoftEdge.Stable_1.0_x64'
        Assert-That -Name 'only the package of one user is found' -Holds $holds -Detail $told
        $null = Invoke-StepScript @step -Part 'set'
        $told = Invoke-StepScript @step -Part 'test'
        Assert-That -Name 'the package of one user is removed' -Holds ($told -eq 'none') -Detail $told
    }
    Invoke-Sysprep @sysprep
    $told = Get-ImageState
    $holds = $told -eq 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    Assert-That -Name 'Sysprep goes on without it' -Holds $holds -Detail $told
}

# A base image that has cloudbase-init, which still runs the user-data that opened WinRM.
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

function Test-PackageBeforeLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $script:Before = @{ left = 3; installed = $true; removed = '' }
    $package = @{ Step = '150-cloudbase-init'; Name = 'package-before' }
    $call = @{ Call = '[Diagnostics.Process]::Start("$env:SystemRoot\System32\msiexec.exe", $line)' }
    $call.Instead = 'Start-Removal -Line $line'
    Use-Played -Functions $script:PlayedPackage -Block {
        $told = Invoke-StepScript @package -Part 'test'
        Assert-That -Name 'a package of another account is found' -Holds ($told -eq 'another') -Detail $told
        $null = Invoke-StepScript @package @call -Part 'set'
        $told = Invoke-StepScript @package -Part 'test'
        Assert-That -Name 'it is found no more' -Holds ($told -eq 'none') -Detail $told
    }
    $line = $script:Before.removed
    $holds = $script:Before.left -le 0 -and $line.StartsWith('/x {0C0FFEE0')
    Assert-That -Name 'a package that was there before is waited for and removed' -Holds $holds -Detail $line
}

# Applies a guest plan: for every resource, Get its actual state, compare that with the desired one, Set it where
# they differ, Get again. Facts are in the plan, abilities in the platform, types in ../resources.
param(
    [Parameter(Mandatory)] [string] $Platform,
    [Parameter(Mandatory)] [string] $Root,
    [Parameter(Mandatory)] [string] $Journal
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$script:Root = $Root
# A module does not see what its caller has dot-sourced, so it loads everything itself.
. "$PSScriptRoot/Tools.ps1"
. "$PSScriptRoot/Comparison.ps1"
. "$PSScriptRoot/Selection.ps1"
. "$PSScriptRoot/Reports.ps1"
. $Platform
foreach ($file in Get-ChildItem -LiteralPath "$PSScriptRoot/../resources" -Filter '*.ps1') { . $file.FullName }
$script:Journal = Resolve-NativePath -Path $Journal

# The download that a resource will need, $null when it needs none.
function Get-Download {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    if ($Resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { return $null }
    Start-Deadline -Name $Resource.name -Seconds $Resource.timeoutSeconds
    $item = ConvertTo-Splat -InputObject $Resource.properties
    if (@(Get-ResourceDifference -Type $Resource.type -Properties $item).Count -eq 0) { return $null }
    $path = Get-CachePath -Digest $item.digest
    if ($Resource.type -ne 'artifact') { $path = $item.cache }
    if ((Get-Digest -Path $path -Algorithm $item.algorithm) -ceq $item.digest) { return $null }
    @{
        name = $Resource.name
        url = (Select-Source -Url $item.url -Digest $item.digest)
        path = $path
        algorithm = $item.algorithm
        digest = $item.digest
        seconds = $Resource.timeoutSeconds
    }
}

# Downloads what the phase will need, several files at a time; the resources find it in the cache.
function Save-Ahead {
    [CmdletBinding()]
    param([object[]] $Resources = @())
    $items = @{}
    foreach ($resource in $Resources) {
        $item = Get-Download -Resource $resource
        if ($null -ne $item) { $items[$item.path] = $item }
    }
    if ($items.Count -gt 0) {
        Write-Line -Text "downloading $($items.Count) files"
        Save-PinnedFile -Items @($items.Values)
    }
}

# Brings one resource into its desired state, or only looks at it.
function Invoke-Resource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource, [Parameter(Mandatory)] [string] $Mode)
    $type = $Resource.type
    $entry = New-Entry -Name $Resource.name -Type $type -Step $Resource.step -Phase $Resource.phase
    Start-Deadline -Name $Resource.name -Seconds $Resource.timeoutSeconds
    try {
        $properties = ConvertTo-Splat -InputObject $Resource.properties
        $entry.differences = @(Get-ResourceDifference -Type $type -Properties $properties)
        if ($entry.differences.Count -gt 0) {
            $entry.result = 'drifted'
            if ($Mode -eq 'apply') {
                $entry.restart = 'restart' -in @(& "Set-${type}Resource" @properties)
                $left = @(Get-ResourceDifference -Type $type -Properties $properties)
                $entry.result = 'changed'
                # What waits for a restart cannot be seen yet; the phase test looks again.
                if ($left.Count -gt 0 -and -not $entry.restart) {
                    $entry.differences = $left
                    throw 'still differs after it was set'
                }
            }
        }
    } catch {
        $entry.result = 'failed'
        $entry.error = $_.Exception.Message
    }
    $entry.ms = [int]$script:Current.clock.ElapsedMilliseconds
    $entry
}

# First boot runs once, while services of Windows and of the platform start and stop by themselves: what fails is
# tried again until the time of the resource is over.
function Invoke-Patiently {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $entry = Invoke-Resource -Resource $Resource -Mode 'apply'
        $isOver = $clock.Elapsed.TotalSeconds + 5 -ge $Resource.timeoutSeconds
        if ($entry.result -ne 'failed' -or $isOver) { return $entry }
        Write-Line -Text "$($entry.name) is tried again: $($entry.error)"
        Start-Sleep -Seconds 5
    }
}

# Downloads of a node that is as planned are needed no more: an image has none of them, and each upgrade would
# leave its archives. What somebody holds goes the next time.
function Clear-Cache {
    [CmdletBinding()]
    param()
    $folder = Join-Path -Path $script:Root -ChildPath 'cache'
    if (-not (Test-Path -LiteralPath $folder)) { return }
    try {
        Remove-Tree -Path $folder
    } catch {
        Write-Line -Text "$folder is not removed: $($_.Exception.Message)"
    }
}

# Applies one phase, up to the first failure. Done work is found done, so it can be run again at any time.
# At the first start of a clone one failure must not keep other ways in open, so all of firstboot is applied.
function Invoke-Phase {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase,
        [Parameter(Mandatory)] [string] $Report)
    $result = New-Result -Phase $Phase -Mode 'apply'
    $script:AllowedHosts = $Plan.PSObject.Properties['allowedHosts']
    $resources = @(Select-Resource -Plan $Plan -Phase $Phase)
    # A report speaks of the machine as it was then. Sealing needs it and takes nothing but the build's own away.
    if ($Phase -ne 'seal' -and [IO.File]::Exists($Report)) { [IO.File]::Delete($Report) }
    try {
        Save-Ahead -Resources $resources
    } catch {
        $entry = New-Entry -Name 'downloads' -Phase $Phase
        $entry.result = 'failed'
        $entry.error = $_.Exception.Message
        Add-JournalLine -Entry $entry
        Write-Line -Text "failed $($entry.error)"
        $result.failed = 1
        $result.error = $entry.error
        return $result
    }
    $place = 0
    foreach ($resource in $resources) {
        $place++
        if ($Phase -eq 'firstboot') {
            $entry = Invoke-Patiently -Resource $resource
        } else {
            $entry = Invoke-Resource -Resource $resource -Mode 'apply'
        }
        Add-JournalLine -Entry $entry
        Write-Entry -Entry $entry -Place "$place/$($resources.Count)"
        # Features and updates refuse to go on while Windows waits for a restart: the phase is run again after it.
        if ($Phase -in 'prepare', 'node' -and $entry.result -eq 'failed' -and (Test-PendingRestart)) {
            Write-Line -Text "$($entry.name) waits for a restart of Windows that is due"
            $result.restart = $true
            break
        }
        $result[$entry.result]++
        if ($entry.restart) { $result.restart = $true }
        if ($entry.result -eq 'failed') {
            if (-not $result.error) { $result.error = "$($entry.name): $($entry.error)" }
            if ($Phase -ne 'firstboot') { break }
        }
    }
    if ($Phase -eq 'node' -and $result.failed -eq 0 -and -not $result.restart) { Clear-Cache }
    $result
}

# Compares resources and sets none.
function Test-Phase {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase,
        [string[]] $Report = @())
    $result = New-Result -Phase $Phase -Mode 'test'
    $resources = @(Select-TestResource -Plan $Plan -Phase $Phase)
    $entries = New-Object -TypeName Collections.ArrayList
    foreach ($resource in $resources) {
        $entry = Invoke-Resource -Resource $resource -Mode 'test'
        if ($Phase -eq 'node') { Write-Note -Entry $entry -Resource $resource }
        $null = $entries.Add((Select-ReportEntry -Entry $entry))
        if ($entry.result -eq 'unchanged') {
            $result.unchanged++
            continue
        }
        $result.failed++
        Add-JournalLine -Entry $entry
        Write-Entry -Entry $entry -Place "$($entries.Count)/$($resources.Count)"
    }
    Write-Line -Text "$($entries.Count) checked, $($result.failed) not as planned"
    if ($Report.Count -gt 0) {
        $content = New-Report -Plan $Plan -Entries ($entries.ToArray()) -Failed $result.failed
        foreach ($path in $Report) {
            Write-TextFile -Path $path -Content (ConvertTo-Json -InputObject $content -Depth 6)
        }
    }
    $result
}

Export-ModuleMember -Function @('Assert-Plan', 'Assert-Report', 'Invoke-Phase', 'Test-Phase')

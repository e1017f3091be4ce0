# What is told of a run: progress lines, the journal, the outcome, the check report. Loaded by Engine.psm1.

# Text to whoever watches; the outcome goes to the output, these lines must not. Text of servers and programs is
# part of it: what a terminal would obey is left out.
function Write-Line {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    $shown = $Text -replace '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)', '?'
    Write-Information -MessageData "imagegen: $shown" -InformationAction Continue
}

# One JSON line in the journal, closed at once: what follows may cut the machine off.
function Add-JournalLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry)
    Add-LogLine -Path $script:Journal -Line (ConvertTo-Json -InputObject $Entry -Depth 6 -Compress)
}

function New-Entry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [string] $Type, [string] $Step, [string] $Phase)
    [ordered]@{
        name = $Name
        type = $Type
        step = $Step
        phase = $Phase
        result = 'unchanged'
        differences = @()
        restart = $false
        error = $null
        ms = 0
    }
}

# The progress line of a resource, with what differs where that is the news.
function Write-Entry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry, [Parameter(Mandatory)] [string] $Place)
    Write-Line -Text "[$Place] $($Entry.result) $($Entry.name) ($($Entry.ms) ms)"
    if ($Entry.result -notin 'drifted', 'failed') { return }
    foreach ($item in $Entry.differences) {
        Write-Line -Text "  $($item.property): expected $($item.expected), found $($item.actual)"
    }
    if ($null -ne $Entry.error) { Write-Line -Text "  $($Entry.error)" }
}

# Why a node is right with either value of a property that others change there; $null where nobody else does.
function Get-VolatileReason {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource, [Parameter(Mandatory)] [string] $Property)
    $reasons = $Resource.PSObject.Properties['volatile']
    if ($null -eq $reasons) { return $null }
    $reason = $reasons.Value.PSObject.Properties[$Property]
    if ($null -ne $reason) { $reason.Value }
}

# Tells what others changed on a node. Where nothing else differs, the entry keeps the differences and is no drift.
function Write-Note {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry, [Parameter(Mandatory)] $Resource)
    if ($Entry.result -ne 'drifted') { return }
    $drifts = @()
    foreach ($item in $Entry.differences) {
        $reason = Get-VolatileReason -Resource $Resource -Property $item.property
        if ($null -eq $reason) {
            $drifts += $item
            continue
        }
        $found = "$($item.property): planned $($item.expected), found $($item.actual)"
        Write-Line -Text "note $($Entry.name) ${found}: $reason"
    }
    if ($drifts.Count -eq 0) { $Entry.result = 'unchanged' } else { $Entry.differences = $drifts }
}

# A failure that is not the end of the resource in hand: told, and kept in the journal.
function Write-Setback {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    $entry = New-Entry -Name $script:Current.name
    $entry.result = 'setback'
    $entry.error = $Text
    Add-JournalLine -Entry $entry
    Write-Line -Text "  $Text"
}

function New-Result {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Phase, [Parameter(Mandatory)] [string] $Mode)
    [ordered]@{
        schema = 'imagegen.dev/phase-result/v1'
        phase = $Phase
        mode = $Mode
        unchanged = 0
        changed = 0
        failed = 0
        restart = $false
        error = $null
    }
}

function Select-ReportEntry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry)
    [ordered]@{
        name = $Entry.name
        type = $Entry.type
        step = $Entry.step
        result = $Entry.result
        differences = $Entry.differences
        error = $Entry.error
        ms = $Entry.ms
    }
}

function New-Report {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [object[]] $Entries = @(), [int] $Failed)
    [ordered]@{
        schema = 'imagegen.dev/check-report/v1'
        target = $Plan.target
        windows = $Plan.windows
        kubernetes = $Plan.kubernetes
        passed = ($Failed -eq 0)
        checked = $Entries.Count
        failed = $Failed
        resources = $Entries
    }
}

# A machine that did not pass its checks is not sealed.
function Assert-Report {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Report)
    if (-not [IO.File]::Exists($Report)) { throw "no check report at ${Report}: run phase test before sealing" }
    $content = [IO.File]::ReadAllText($Report) | ConvertFrom-Json
    foreach ($name in 'target', 'windows', 'kubernetes') {
        if ($content.$name -cne $Plan.$name) { throw "the check report at $Report is of another plan ($name)" }
    }
    if ($content.passed -isnot [bool] -or -not $content.passed) {
        throw "$($content.failed) of $($content.checked) checks failed: this machine is not sealed"
    }
}

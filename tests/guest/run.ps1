<#
.SYNOPSIS
Runs the cases of the guest: the real engine and node scripts on a simulated Windows, by Pester.

.DESCRIPTION
Needs PowerShell 7 with curl and tar on a system without a drive C:; elsewhere it says so and does nothing.
Needs Pester 5 or newer. A case is a Describe of a file *.Tests.ps1, and its tests are steps in order on one
machine. Files run side by side in processes, each with a machine of its own.
Exit codes: 0 every test passed, 1 one failed or there was none, 2 Pester is missing.

.PARAMETER Case
Names of cases, of one test as CASE.TEST, or of rows as Matrix.registry/*; `*` stands for anything.

.PARAMETER Tag
Cases of these tags: engine, matrix, node, installer, laws, life.

.PARAMETER Plan
A rendered guest-plan.json, its workspace, or a folder of plans: their lives are played as well.

.PARAMETER Provisioners
The folder with engine and resources.

.PARAMETER Report
File that gets the results as JUnit XML.

.PARAMETER Jobs
Number of processes.

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1 -Case Drift

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1 -Tag life -Plan workspace -Report results.xml
#>
[CmdletBinding()]
param([string[]] $Case = @(), [string[]] $Tag = @(), [string] $Plan, [string] $Provisioners, [string] $Report,
    [int] $Jobs = [Environment]::ProcessorCount)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ($PSVersionTable.PSVersion.Major -lt 7 -or [IO.Directory]::Exists('C:\')) {
    Write-Output -InputObject 'skipped: the simulation needs PowerShell 7 on a system without a drive C:'
    exit 0
}
$found = @(Get-Module -Name 'Pester' -ListAvailable | Where-Object { $_.Version.Major -ge 5 })
if ($found.Count -eq 0) {
    $text = 'needs Pester 5 or newer: Install-Module -Name Pester -MinimumVersion 5.0 -Scope CurrentUser -Force'
    Write-Output -InputObject "$text -SkipPublisherCheck"
    exit 2
}
. "$PSScriptRoot/world/report.ps1"
# With -File a list is one text.
$Case = @($Case | ForEach-Object { $_.Split(',') })
$Tag = @($Tag | ForEach-Object { $_.Split(',') })

# Plans by their whole paths.
function Get-PlanFile {
    param([string] $Path)
    if ([IO.File]::Exists("$Path/guest-plan.json")) { return "$Path/guest-plan.json" }
    if ([IO.Directory]::Exists($Path)) { return [IO.Directory]::GetFiles($Path, '*.json') | Sort-Object }
    $Path
}

$given = $ExecutionContext.SessionState.Path
if (-not $Provisioners) { $Provisioners = "$PSScriptRoot/../../provisioners" }
$root = [IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Provisioners))
$work = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-$([guid]::NewGuid().ToString('N'))"
$asked = @{ Case = $Case; Tag = $Tag }
$items = @(Select-CaseFile @asked | ForEach-Object { @{ path = $_; plan = '' } })
if ($Plan) {
    $files = @(Select-CaseFile @asked | Where-Object { $_.EndsWith('plan.Tests.ps1') })
    foreach ($file in Get-PlanFile -Path $given.GetUnresolvedProviderPathFromPSPath($Plan)) {
        $items += @($files | ForEach-Object { @{ path = $_; plan = [IO.Path]::GetFullPath($file) } })
    }
}
if ($items.Count -eq 0) { throw 'no case has such a name or tag' }
foreach ($item in $items) { $item.names, $item.tags, $item.provisioners = $Case, $Tag, $root }
$clock = [Diagnostics.Stopwatch]::StartNew()
try {
    Write-Queue -Work $work -Items $items
    $workers = @(for ($number = 0; $number -lt [Math]::Min($Jobs, $items.Count); $number++) {
        Start-Worker -Work $work -Number $number
    })
    $said = @(foreach ($worker in $workers) { Wait-Worker -Worker $worker })
    $missing = @($items | Where-Object { -not [IO.File]::Exists($_.report) })
    $results = Join-Report -Files @($items | ForEach-Object { $_.report } | Where-Object { [IO.File]::Exists($_) })
    if ($Report) { $results.Save([IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Report))) }
    $counts = Write-Outcome -Results $results
    foreach ($item in $missing) { Write-Output -InputObject "FAILED: $($item.path) $($item.plan) has no results" }
    if ($missing.Count -gt 0) { Write-Output -InputObject ($said -join "`n") }
    $lost = @()
    if ($Case.Count + $Tag.Count -eq 0) { $lost = @(Find-LostName -Results $results) }
    foreach ($name in $lost) { Write-Output -InputObject "FAILED: nothing is left of $name" }
    $seconds = [int]$clock.Elapsed.TotalSeconds
    $text = "$($counts.passed) passed, $($counts.failed) failed, $($counts.skipped) skipped"
    Write-Output -InputObject "$text in $($workers.Count) processes ($seconds s)"
} finally {
    Remove-Item -LiteralPath $work -Recurse -Force
}
exit [int]($counts.failed + $missing.Count + $lost.Count -gt 0 -or $counts.passed -eq 0)

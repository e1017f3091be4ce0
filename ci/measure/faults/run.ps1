<#
.SYNOPSIS
Seeds faults in provisioners, one at a time, and tells which tests of the guest catch each.

.DESCRIPTION
Each patch beside this script is a fault that a user would notice: its first line says how, and the line `cases:`
names the cases that are asked. A patch is applied to a copy of provisioners. Needs what tests/guest/run.ps1 needs,
and git.
Exit codes: 0 every fault was caught, 1 one was not.

.PARAMETER Fault
Names of faults, without `.patch`.

.PARAMETER All
Every case is asked of every fault, and the tests that no fault fails are told.

.PARAMETER Report
File that gets a line for each fault and test that catches it.

.PARAMETER Jobs
Number of processes.

.EXAMPLE
pwsh -NoProfile -File ci/measure/faults/run.ps1 -Fault join-secret
#>
[CmdletBinding()]
param([string[]] $Fault = @(), [switch] $All, [string] $Report, [int] $Jobs = [Environment]::ProcessorCount)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$top = [IO.Path]::GetFullPath("$PSScriptRoot/../../..")
. "$top/tests/guest/world/report.ps1"
$Fault = @($Fault | ForEach-Object { $_.Split(',') })
$given = $ExecutionContext.SessionState.Path
$work = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-$([guid]::NewGuid().ToString('N'))"

# A copy of provisioners with the fault, beside the templates of Packer that cases read.
function New-FaultyTree {
    param([string] $Name, [string] $Patch)
    $tree = "$work/trees/$Name"
    $null = [IO.Directory]::CreateDirectory($tree)
    & cp -a "$top/provisioners" $tree
    $null = New-Item -ItemType SymbolicLink -Path "$tree/packer" -Value "$top/packer"
    & git -C $tree apply --whitespace=nowarn $Patch
    if ($LASTEXITCODE -ne 0) { throw "$Patch does not apply" }
    "$tree/provisioners"
}

$patches = @(Get-ChildItem -LiteralPath $PSScriptRoot -Filter '*.patch' |
    Where-Object { $Fault.Count -eq 0 -or $_.BaseName -in $Fault })
$items = @(foreach ($patch in $patches) {
    $lines = [IO.File]::ReadAllLines($patch.FullName)
    $cases = @()
    if (-not $All) { $cases = @($lines[1] -replace '^cases: ', '' -split ', ') }
    $tree = New-FaultyTree -Name $patch.BaseName -Patch $patch.FullName
    foreach ($file in Select-CaseFile -Case $cases) {
        @{ path = $file; plan = ''; names = $cases; tags = @(); provisioners = $tree; fault = $patch.BaseName }
    }
})
$caught = [ordered]@{}
foreach ($patch in $patches) { $caught[$patch.BaseName] = @() }
$seen = @{}
try {
    Write-Queue -Work $work -Items $items
    $workers = @(for ($number = 0; $number -lt $Jobs; $number++) { Start-Worker -Work $work -Number $number })
    $null = @(foreach ($worker in $workers) { Wait-Worker -Worker $worker })
    foreach ($item in $items) {
        if (-not [IO.File]::Exists($item.report)) {
            $caught[$item.fault] += "$([IO.Path]::GetFileName($item.path)) does not run"
            continue
        }
        foreach ($test in ([xml][IO.File]::ReadAllText($item.report)).SelectNodes('//testcase')) {
            $name = $test.GetAttribute('name')
            if ($test.GetAttribute('status') -eq 'Failed') {
                $caught[$item.fault] += $name
                $seen[$name] = $true
            } elseif (-not $seen.ContainsKey($name)) {
                $seen[$name] = $false
            }
        }
    }
} finally {
    Remove-Item -LiteralPath $work -Recurse -Force
}
foreach ($name in $caught.Keys) {
    $tests = @($caught[$name])
    if ($tests.Count -eq 0) {
        Write-Output -InputObject "NOT CAUGHT: $name"
    } else {
        Write-Output -InputObject "caught: $name by $($tests.Count), first $($tests[0])"
    }
}
if ($All) { $seen.Keys | Where-Object { -not $seen[$_] } | Sort-Object | ForEach-Object { "no fault fails: $_" } }
if ($Report) {
    $lines = foreach ($name in $caught.Keys) { $caught[$name] | ForEach-Object { "$name`t$_" } }
    $path = [IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Report))
    [IO.File]::WriteAllLines($path, @($lines))
}
$missed = @($caught.Keys | Where-Object { @($caught[$_]).Count -eq 0 })
Write-Output -InputObject "$($caught.Count - $missed.Count) of $($caught.Count) faults caught"
exit [int]($missed.Count -gt 0)

<#
.SYNOPSIS
Seeds faults in provisioners, one at a time, and tells which cases of the guest catch each.

.DESCRIPTION
Each patch beside this script is a fault that a user would notice: its first line says how, and the line `cases:`
names the cases that are asked first; all others are asked where none of them fails. A patch is applied to a copy
of provisioners. Needs what tests/guest/run.ps1 needs, and git.
The record is a line for each fault and case that catches it, beside the layer that ran, the number of tests that
fail, and the first of them.
Exit codes: 0 every fault was caught, 1 one was not.

.PARAMETER Fault
Names of faults, without `.patch`.

.PARAMETER All
Every case is asked of every fault, and the cases that no fault fails are told.

.PARAMETER Record
File whose lines of these faults are written anew; those of other faults stay.

.PARAMETER Jobs
Number of processes.

.EXAMPLE
pwsh -NoProfile -File ci/measure/faults/run.ps1 -Fault join-secret

.EXAMPLE
pwsh -NoProfile -File ci/measure/faults/run.ps1 -Record ci/measure/faults/caught.tsv
#>
[CmdletBinding()]
param([string[]] $Fault = @(), [switch] $All, [string] $Record, [int] $Jobs = [Environment]::ProcessorCount)
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
    param([string] $Name)
    $tree = "$work/trees/$Name"
    $null = [IO.Directory]::CreateDirectory($tree)
    & cp -a "$top/provisioners" "$top/.gitattributes" $tree
    $null = New-Item -ItemType SymbolicLink -Path "$tree/packer" -Value "$top/packer"
    # Attributes, by which lines end, hold in a repository alone.
    & git -C $tree init --quiet
    & git -C $tree apply --whitespace=nowarn "$PSScriptRoot/$Name.patch"
    if ($LASTEXITCODE -ne 0) { throw "$Name does not apply" }
    "$tree/provisioners"
}

# Runs files of cases against faults: items of { fault, path, names }. Gives each with its results.
function Invoke-Turn {
    param([string] $Name, [hashtable[]] $Items)
    foreach ($item in $Items) { $item.plan, $item.tags, $item.provisioners = '', @(), $trees[$item.fault] }
    Write-Queue -Work "$work/$Name" -Items $Items
    $workers = @(for ($number = 0; $number -lt [Math]::Min($Jobs, $Items.Count); $number++) {
        Start-Worker -Work "$work/$Name" -Number $number
    })
    foreach ($worker in $workers) { $null = Wait-Worker -Worker $worker }
}

# Adds what failed to the record of a fault, by case, and what ran to the cases that were asked.
function Add-Result {
    param([hashtable] $Item)
    $cases = $caught[$Item.fault]
    if (-not [IO.File]::Exists($Item.report)) {
        $name = [IO.Path]::GetFileName($Item.path)
        $cases[$name] = @("$name does not run")
        return
    }
    foreach ($test in ([xml][IO.File]::ReadAllText($Item.report)).SelectNodes('//testcase')) {
        $name = $test.GetAttribute('name')
        $case = $name.Split('.')[0]
        $seen[$case] = $true
        if ($test.GetAttribute('status') -ne 'Failed') { continue }
        if (-not $cases.Contains($case)) { $cases[$case] = @() }
        $cases[$case] += $name
    }
}

# Lines of the record: those of other faults as they are.
function Write-Record {
    param([string] $Path)
    $lines = @()
    if ([IO.File]::Exists($Path)) {
        $lines = @([IO.File]::ReadAllLines($Path) | Select-Object -Skip 1)
        $lines = @($lines | Where-Object { -not $caught.Contains($_.Split("`t")[0]) })
    }
    foreach ($name in $caught.Keys) {
        foreach ($case in $caught[$name].Keys) {
            $tests = @($caught[$name][$case])
            $lines += @($name, 'simulation', $case, $tests.Count, $tests[0]) -join "`t"
        }
    }
    $all = @("fault`tlayer`tcase`ttests`tfirst") + @($lines | Sort-Object -Culture '')
    [IO.File]::WriteAllText($Path, ($all -join "`n") + "`n")
}

$names = @(Get-ChildItem -LiteralPath $PSScriptRoot -Filter '*.patch' | ForEach-Object { $_.BaseName })
if ($Fault.Count -gt 0) { $names = @($names | Where-Object { $_ -in $Fault }) }
$caught = [ordered]@{}
$trees = @{}
$seen = @{}
try {
    $first = @()
    foreach ($name in $names) {
        $caught[$name] = [ordered]@{}
        $trees[$name] = New-FaultyTree -Name $name
        $cases = @()
        $lines = [IO.File]::ReadAllLines("$PSScriptRoot/$name.patch")
        if (-not $All) { $cases = @($lines[1].Substring(7) -split ', ') }
        $first += @(foreach ($file in Select-CaseFile -Case $cases) {
            @{ fault = $name; path = $file; names = $cases }
        })
    }
    Invoke-Turn -Name 'first' -Items $first
    foreach ($item in $first) { Add-Result -Item $item }
    $left = @($names | Where-Object { -not $All -and $caught[$_].Count -eq 0 })
    $others = @(foreach ($name in $left) {
        Select-CaseFile | ForEach-Object { @{ fault = $name; path = $_; names = @() } }
    })
    if ($others.Count -gt 0) {
        Write-Output -InputObject "every case is asked of: $($left -join ', ')"
        Invoke-Turn -Name 'others' -Items $others
        foreach ($item in $others) { Add-Result -Item $item }
    }
} finally {
    Remove-Item -LiteralPath $work -Recurse -Force
}
foreach ($name in $names) {
    $cases = $caught[$name]
    if ($cases.Count -eq 0) {
        Write-Output -InputObject "NOT CAUGHT: $name"
    } else {
        Write-Output -InputObject "caught: $name by $(@($cases.Keys) -join ', '), first $(@($cases[0])[0])"
    }
}
if ($All) {
    $failing = @($caught.Values | ForEach-Object { $_.Keys })
    $seen.Keys | Where-Object { $_ -notin $failing } | Sort-Object | ForEach-Object { "no fault fails: $_" }
}
if ($Record) { Write-Record -Path ([IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Record))) }
$missed = @($names | Where-Object { $caught[$_].Count -eq 0 })
Write-Output -InputObject "$($names.Count - $missed.Count) of $($names.Count) faults caught"
exit [int]($missed.Count -gt 0)

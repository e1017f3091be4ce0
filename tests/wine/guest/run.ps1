<#
.SYNOPSIS
Runs the guest's own scripts on Wine, with the abilities of Windows as they are where Wine serves them.

.DESCRIPTION
For a prefix of Wine that nobody else uses: C:\imagegen and values of the registry are made and not removed.
Each suite says how long it took. Exit codes: 0 everything is as expected, 1 something is not.

.PARAMETER Workspaces
Folder with workspaces that imagegen rendered, one in each folder; the first whose folder has Install.ps1 is
installed.

.PARAMETER Suite
Suites to run; all where none is named.

.EXAMPLE
pwsh.exe -NoProfile -ExecutionPolicy Bypass -File tests\wine\guest\run.ps1 -Workspaces Z:\tmp\workspaces
#>
[CmdletBinding()]
param([Parameter(Mandatory)] [string] $Workspaces, [string[]] $Suite = @())
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$script:Platform = "$PSScriptRoot\platform.ps1"
$script:Passed = 0
$script:Failures = @()
Add-Type -AssemblyName 'System.IO.Compression', 'System.IO.Compression.FileSystem'
foreach ($name in 'checks', 'plans', 'node', 'abilities') { . "$PSScriptRoot\$name.ps1" }
$all = 'Plan', 'Install', 'Node', 'Ability'
$wanted = @($Suite -split "," | Where-Object { $_ })
foreach ($name in $all | Where-Object { -not $wanted -or $_ -in $wanted }) {
    $script:Part = $name
    $before = $script:Passed, $script:Failures.Count
    $clock = [Diagnostics.Stopwatch]::StartNew()
    try {
        $null = & "Test-$name"
    } catch {
        Assert-That -Name 'it comes to its end' -Holds $false -Detail "$_ $($_.ScriptStackTrace)"
    }
    $counts = ($script:Passed - $before[0]), ($script:Failures.Count - $before[1])
    'Wine, {0}: {1} passed, {2} failed, {3:0.0} s' -f $name, $counts[0], $counts[1], $clock.Elapsed.TotalSeconds
}
foreach ($failure in $script:Failures) { "FAILED: $failure" }
exit [int]($script:Failures.Count -gt 0)

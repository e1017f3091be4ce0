<#
.SYNOPSIS
Tells whether this machine still is as it was planned.

.DESCRIPTION
Compares every resource of scope node with the machine and changes nothing. Properties that others change on a node
are no drift: a difference is a note that says why, such as for the rights of folders that the kubelet sets itself,
or what Azure's agent or a domain's policy says of updates. Where the machine differs, it also says whether the
kubelet is newer than the plan, which Upgrade-Node.ps1 adopts.
Exit codes: 0 no drift, 2 plan or scripts refused, 8 drift.

.PARAMETER Format
text for people; json for the whole report, which C:\imagegen\state\drift.json keeps in any case.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Test-Node.ps1 -Format json
#>
[CmdletBinding()]
param(
    [ValidateSet('text', 'json')]
    [string] $Format = 'text',
    [string] $Platform
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Split-Path -Path $PSScriptRoot
# Not as a default: 5.1 knows no $PSScriptRoot there when it is started with -File.
if (-not $Platform) { $Platform = "$PSScriptRoot/../engine/Windows.ps1" }
$report = Join-Path -Path $root -ChildPath 'state/drift.json'
if ([IO.File]::Exists($report)) { [IO.File]::Delete($report) }
$arguments = @{ Phase = 'node'; Mode = 'test'; Report = $report; Platform = $Platform }
if ($Format -eq 'text') {
    & "$PSScriptRoot/../engine/Invoke-Plan.ps1" @arguments
    $code = $LASTEXITCODE
    if ($code -eq 8) {
        Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
        Write-NewerVersion -Seconds 60
    }
    exit $code
}
$null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" @arguments 6>&1
$code = $LASTEXITCODE
if ([IO.File]::Exists($report)) { [IO.File]::ReadAllText($report) }
exit $code

<#
.SYNOPSIS
Collects what tells why this node does not do what it should.

.DESCRIPTION
One archive with versions, services, host networks, events of the last day, the engine's journal and reports, and
the ends of the logs of the node's services. Tokens, keys and passwords are blotted out; logs of pods are not
taken.
Exit codes: 0 done, 1 failed, 2 plan or scripts refused.

.PARAMETER Destination
The archive to write.

.PARAMETER TimeoutSeconds
Time for each of the questions.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Get-NodeDiagnostics.ps1 -Destination C:\tmp\node.zip
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory)] [string] $Destination,
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 60,
    [string] $Platform
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Split-Path -Path $PSScriptRoot
# Not as a default: 5.1 knows no $PSScriptRoot there when it is started with -File.
if (-not $Platform) { $Platform = "$PSScriptRoot/../engine/Windows.ps1" }
# Every script against its digest, before one of them is loaded. The engine tells why it refuses.
$null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Mode 'check' -Platform $Platform
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
. "$PSScriptRoot/../engine/Reason.ps1"
$code = 1
try {
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    Save-Diagnosis -Destination $Destination -Seconds $TimeoutSeconds
    $code = 0
} catch {
    Write-Reason -Root $root -Source 'Get-NodeDiagnostics' -Message $_.Exception.Message
}
exit $code

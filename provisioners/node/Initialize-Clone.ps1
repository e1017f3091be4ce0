<#
.SYNOPSIS
The first start of a clone: closes the ways in that the build came through.

.DESCRIPTION
SetupComplete.cmd starts it once, as SYSTEM. It applies the phase firstboot, all of it whatever fails. A clone
where a resource failed does not join: the reason is in C:\imagegen\state\errors.log, in the event log and on the
serial port of the target.
Exit codes: 0 done, 1 a resource failed, 2 plan or scripts refused.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Initialize-Clone.ps1
#>
[CmdletBinding()]
param(
    [string] $Platform
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Split-Path -Path $PSScriptRoot
# Not as a default: 5.1 knows no $PSScriptRoot there when it is started with -File.
if (-not $Platform) { $Platform = "$PSScriptRoot/../engine/Windows.ps1" }
# The engine holds every script against its digest and tells why it refuses: then none of them is loaded here.
$told = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'firstboot' -Platform $Platform)
$code = $LASTEXITCODE
$told
if ($code -in 0, 2) { exit $code }
. "$PSScriptRoot/../engine/Reason.ps1"
$message = 'the first boot of this clone failed, so it does not join'
# The engine's last line is its result, which names the first resource that failed.
if ($told.Count -gt 0 -and "$($told[-1])".StartsWith('{')) {
    $result = "$($told[-1])" | ConvertFrom-Json
    $problem = $result.PSObject.Properties['error']
    if ($null -ne $problem -and $problem.Value) { $message += ": $($problem.Value)" }
}
Write-Reason -Root $root -Source 'Initialize-Clone' -Message $message
Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
Send-Alarm -Text $message
exit $code

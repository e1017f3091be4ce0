<#
.SYNOPSIS
The first start of a clone: closes the ways in that the build came through.

.DESCRIPTION
SetupComplete.cmd starts it once, as SYSTEM. It applies the phase firstboot, all of it whatever fails. A clone with
a way in that is left open does not join: the reason is in C:\imagegen\state\errors.log, in the event log and on
the serial port of the target.
Exit codes: 0 done, 1 a way in is open, 2 plan or scripts refused.

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
. "$PSScriptRoot/../engine/Reason.ps1"
$code = 1
try {
    & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'firstboot' -Platform $Platform
    $code = $LASTEXITCODE
    if ($code -ne 0) { throw 'a way in of the build is not closed, so this clone does not join' }
} catch {
    $message = $_.Exception.Message
    Write-NodeReason -Root $root -Source 'Initialize-Clone' -Message $message
    # Scripts that the engine refused are not loaded.
    if ($code -ne 2) {
        Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
        Send-Alarm -Text $message
    }
}
exit $code

# How each script of the node begins and ends. Exit codes: 0 done, 1 failed, 2 plan or scripts refused, or what the
# body sets as $run.code.
[CmdletBinding()]
param(
    [Parameter(Mandatory)] [string] $Name,
    [Parameter(Mandatory)] [scriptblock] $Body,
    [string] $Platform,
    [switch] $Alarm
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
$run = @{ code = 1; root = $root; platform = $Platform }
try {
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    $run.code = 2
    Assert-NodeFolder
    $run.code = 1
    & $Body $run
    $run.code = 0
} catch {
    $message = $_.Exception.Message
    Write-Reason -Root $root -Source $Name -Message $message
    if ($Alarm -and $null -ne (Get-Command -Name 'Send-Alarm' -ErrorAction SilentlyContinue)) {
        Send-Alarm -Text $message
    }
}
exit $run.code

<#
.SYNOPSIS
Brings this node to the plan of the next version.

.DESCRIPTION
Takes the payload.zip of a workspace whose plan has the same target and Windows and a Kubernetes that is at most
one
minor version newer. The digest is that of the workspace's payload_sha256. Drain the node first: its services stop.
The payload that was in use is kept in C:\imagegen\previous.
Exit codes: 0 done, 1 failed, 2 plan or scripts refused, 3010 a restart is due: then run it again with -Continue.

.PARAMETER Payload
The payload.zip.

.PARAMETER Sha256
Its digest.

.PARAMETER Continue
The payload is in place already: go on with it.

.PARAMETER TimeoutSeconds
Time for each part.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Upgrade-Node.ps1 -Payload C:\tmp\payload.zip -Sha256 4f5c...
#>
[CmdletBinding(DefaultParameterSetName = 'Payload')]
param(
    [Parameter(Mandatory, ParameterSetName = 'Payload')]
    [string] $Payload,
    [Parameter(Mandatory, ParameterSetName = 'Payload')]
    [ValidatePattern('^[0-9a-fA-F]{64}$')]
    [string] $Sha256,
    [Parameter(Mandatory, ParameterSetName = 'Continue')]
    [switch] $Continue,
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 900,
    [string] $Platform
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Split-Path -Path $PSScriptRoot
# Not as a default: 5.1 knows no $PSScriptRoot there when it is started with -File.
if (-not $Platform) { $Platform = "$PSScriptRoot/../engine/Windows.ps1" }
$code = 1
try {
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    if (-not $Continue) { Install-Payload -Payload $Payload -Sha256 $Sha256 }
    Stop-Node -Seconds $TimeoutSeconds
    foreach ($phase in 'bootstrap', 'prepare', 'install') {
        $lines = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase $phase -Platform $Platform 6>&1)
        $lines
        if ($LASTEXITCODE -ne 0) {
            $code = $LASTEXITCODE
            throw "phase $phase of the new plan failed; the old one is in $root/previous"
        }
        if ($phase -eq 'prepare' -and ("$($lines[-1])" | ConvertFrom-Json).restart) {
            $code = 3010
            throw 'a restart is due: after it, run Upgrade-Node.ps1 -Continue'
        }
    }
    # The scripts of the new version go on.
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    Complete-Upgrade -Seconds $TimeoutSeconds
    $code = 0
} catch {
    [Console]::Error.WriteLine("imagegen: $($_.Exception.Message)")
}
exit $code

<#
.SYNOPSIS
Brings this node to the plan of the next version.

.DESCRIPTION
Takes the payload.zip of a workspace whose plan has the same target and Windows and a Kubernetes that is at most
one minor version newer. The digest is that of the workspace's payload_sha256. Drain the node first: its services
stop and its pods are removed. Files that a program keeps open stop it before anything is changed; after a failure
the payload that was in use, kept in C:\imagegen\previous, is put back and applied.
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
# Every script against its digest, before one of them is loaded. The engine tells why it refuses.
$null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Mode 'check' -Platform $Platform
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
. "$PSScriptRoot/../engine/Reason.ps1"

# The plan that was in use, and a node that runs with it.
function Restore-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [bool] $Switched)
    if ($Switched) { Restore-Payload }
    $null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $Platform 6>&1
    if ($LASTEXITCODE -ne 0) { throw 'the plan that was in use could not be applied again' }
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    Start-Node -Seconds $TimeoutSeconds
}

$code = 1
$stopped = $false
$switched = [bool]$Continue
try {
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    if (-not $Continue) { Expand-Payload -Payload $Payload -Sha256 $Sha256 }
    $stopped = $true
    Stop-Node -Seconds $TimeoutSeconds
    if (-not $Continue) {
        Assert-Replaceable
        $switched = $true
        Switch-Payload
    }
    $lines = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $Platform 6>&1)
    $lines
    if ($LASTEXITCODE -ne 0) { throw 'the new plan could not be applied' }
    if (("$($lines[-1])" | ConvertFrom-Json).restart) {
        $code = 3010
        throw 'a restart is due: after it, run Upgrade-Node.ps1 -Continue'
    }
    # The scripts of the new version go on.
    Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
    Complete-Upgrade -Seconds $TimeoutSeconds
    $code = 0
} catch {
    Write-Reason -Root $root -Source 'Upgrade-Node' -Message $_.Exception.Message
    if ($code -eq 1 -and $stopped) {
        try {
            Restore-Node -Switched $switched
            Write-Reason -Root $root -Source 'Upgrade-Node' -Message 'the plan that was in use is back'
        } catch {
            Write-Reason -Root $root -Source 'Upgrade-Node' -Message "not restored: $($_.Exception.Message)"
        }
    }
}
exit $code

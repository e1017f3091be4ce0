<#
.SYNOPSIS
Brings this node to the plan of the next version.

.DESCRIPTION
Takes the payload.zip of a workspace whose plan has the same target and Windows and a Kubernetes that is at most
one minor version newer. The digest is that of the workspace's payload_sha256. Drain the node first: its services
stop and its pods are removed. Services whose program is replaced stop, too, and start again. Files that another
program keeps open stop it before anything is changed; after a failure the payload that was in use, kept in
C:\imagegen\previous, is put back and applied.
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
& "$PSScriptRoot/Start.ps1" -Name 'Upgrade-Node' -Platform $Platform -Body {
    param($run)
    if (-not $Continue) {
        Expand-Payload -Payload $Payload -Sha256 $Sha256
        Assert-Movable
    }
    $switched = [bool]$Continue
    $stopped = @()
    try {
        Stop-Node -Seconds $TimeoutSeconds
        if (-not $Continue) {
            $stopped = @(Stop-FileService -Seconds $TimeoutSeconds)
            Clear-PreviousPayload
            $switched = $true
            Switch-Payload
        }
        $lines = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $run.platform 6>&1)
        $lines
        if ($LASTEXITCODE -ne 0) { throw 'the new plan could not be applied' }
        if (("$($lines[-1])" | ConvertFrom-Json).restart) {
            $run.code = 3010
            throw 'a restart is due: after it, run Upgrade-Node.ps1 -Continue'
        }
        Start-FileService -Names $stopped -Seconds $TimeoutSeconds
        # The scripts of the new version go on.
        Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $run.platform, $run.root -Force
        Complete-Upgrade -Seconds $TimeoutSeconds
    } catch {
        if ($run.code -eq 1) {
            $said = Restore-Node -Run $run -Switched $switched -Seconds $TimeoutSeconds
            try {
                Start-FileService -Names $stopped -Seconds $TimeoutSeconds
            } catch {
                $said = "$said; $($_.Exception.Message)"
            }
            Write-Reason -Root $run.root -Source 'Upgrade-Node' -Message "$said"
        }
        throw
    }
}
exit $LASTEXITCODE

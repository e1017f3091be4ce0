<#
.SYNOPSIS
Joins this machine to a cluster as a node.

.DESCRIPTION
A convenience around kubeadm join, which needs none of this: it checks first that the machine is as planned
(digests and configuration, not what others change), runs kubeadm with the configuration that imagegen join-data
wrote, and waits until the kubelet has its certificate and says that it is well.
The configuration holds a secret: it is removed, whatever the outcome, and never shown.
What it does is in C:\imagegen\state\node.log, why it failed in errors.log beside it and in the event log.
Exit codes: 0 joined, 1 failed, 2 plan or scripts refused, 8 drift.

.PARAMETER Configuration
kubeadm's JoinConfiguration.

.PARAMETER Discovery
A kubeconfig that the configuration names, if it does. Removed as well.

.PARAMETER TimeoutSeconds
Time for each of the three parts.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Join-Node.ps1
#>
[CmdletBinding()]
param(
    [string] $Configuration = 'C:\etc\kubernetes\join-config.yaml',
    [string] $Discovery = 'C:\etc\kubernetes\discovery.conf',
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 600,
    [string] $Platform
)
Set-StrictMode -Version 3.0
try {
    & "$PSScriptRoot/Start.ps1" -Name 'Join-Node' -Platform $Platform -Alarm -Body {
        param($run)
        Wait-Defender -Seconds ([Math]::Min(300, $TimeoutSeconds))
        & "$PSScriptRoot/Test-Node.ps1" -Platform $run.platform
        if ($LASTEXITCODE -ne 0) {
            $run.code = $LASTEXITCODE
            throw 'this machine is not as planned, so it does not join'
        }
        Initialize-Join -Seconds $TimeoutSeconds
        Join-Cluster -Configuration $Configuration -Seconds $TimeoutSeconds
        Wait-Node -Seconds $TimeoutSeconds
    }
} finally {
    # A scanner may hold them for a moment. Nothing else is loaded where the scripts were refused.
    foreach ($path in $Configuration, $Discovery) {
        for ($try = 1; Test-Path -LiteralPath $path; $try++) {
            try {
                Remove-Item -LiteralPath $path -Force -ErrorAction Stop
            } catch {
                if ($try -ge 20) {
                    $why = $_.Exception.Message
                    [Console]::Error.WriteLine("imagegen: remove $path, which holds a secret: $why")
                    break
                }
                Start-Sleep -Milliseconds 250
            }
        }
    }
}
exit $LASTEXITCODE

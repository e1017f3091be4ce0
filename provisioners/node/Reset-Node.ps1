<#
.SYNOPSIS
Takes this node out of its cluster, ready to join again.

.DESCRIPTION
Stops the node's services, runs kubeadm reset, removes host networks, endpoints and load balancers, the state of
the pod network and credentials, then has the engine bring every resource of scope node back to what the plan says.
Drain the node and delete it from the cluster first.
Exit codes: 0 done, 1 failed, 2 plan or scripts refused, 3010 a restart is due: then run it again.

.PARAMETER TimeoutSeconds
Time for the reset itself.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Reset-Node.ps1
#>
[CmdletBinding()]
param(
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 600,
    [string] $Platform
)
Set-StrictMode -Version 3.0
& "$PSScriptRoot/Start.ps1" -Name 'Reset-Node' -Platform $Platform -Body {
    param($run)
    Reset-Cluster -Seconds $TimeoutSeconds
    $lines = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $run.platform 6>&1)
    $run.code = $LASTEXITCODE
    $lines
    if ($run.code -ne 0) { throw 'the node has left its cluster, but the machine is not as planned again' }
    # The engine stops where Windows refuses to go on before a restart.
    if (("$($lines[-1])" | ConvertFrom-Json).restart) {
        $run.code = 3010
        throw 'the node has left its cluster, and a restart is due: after it, run Reset-Node.ps1 again'
    }
}
exit $LASTEXITCODE

<#
.SYNOPSIS
Gives a node that joined what no agent brings: the pod network, flanneld and kube-proxy as services.

.DESCRIPTION
A task runs it within a minute after a join, however the node joined, and another one after each start of the
machine where no agent looks after the pod network's bridge, or after the node's address in its configuration. On a
machine that did not join it does nothing. Run it again when credentials of kube-proxy or flanneld came later, or
when the machine has another address.
Exit codes: 0 done, 1 failed, 2 plan or scripts refused.

.PARAMETER TimeoutSeconds
Time for each of the two parts.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Complete-Node.ps1
#>
[CmdletBinding()]
param(
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 600,
    [string] $Platform
)
Set-StrictMode -Version 3.0
& "$PSScriptRoot/Start.ps1" -Name 'Complete-Node' -Platform $Platform -Body {
    Restore-Network -Seconds $TimeoutSeconds
    Complete-Node -Seconds $TimeoutSeconds
}
exit $LASTEXITCODE

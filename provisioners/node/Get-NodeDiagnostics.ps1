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
& "$PSScriptRoot/Start.ps1" -Name 'Get-NodeDiagnostics' -Platform $Platform -Body {
    Save-Diagnosis -Destination $Destination -Seconds $TimeoutSeconds
}
exit $LASTEXITCODE

<#
.SYNOPSIS
Keeps the logs of this node's services, and those of these scripts, small.

.DESCRIPTION
Run by a task each day. A log that has grown too large is copied to NAME.1 and emptied where it is, because the
service that writes it keeps it open; what is written in between is lost. Older copies move on to NAME.2 and so on.
Where the disk has no room for a copy, none is made.
Files that nothing was written to for a month go. Logs of pods and containers are the kubelet's.
Exit codes: 0 done, 1 a log could not be limited, 2 plan or scripts refused.

.PARAMETER MaximumMegabytes
Size from which on a log is emptied.

.PARAMETER Keep
Number of copies.

.PARAMETER Days
Age of files that go.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
C:\imagegen\node\Limit-Log.ps1
#>
[CmdletBinding()]
param(
    [ValidateRange(1, 10240)]
    [int] $MaximumMegabytes = 100,
    [ValidateRange(1, 99)]
    [int] $Keep = 3,
    [ValidateRange(1, 3650)]
    [int] $Days = 30,
    [string] $Platform
)
Set-StrictMode -Version 3.0
& "$PSScriptRoot/Start.ps1" -Name 'Limit-Log' -Platform $Platform -Body {
    Limit-NodeLog -Megabytes $MaximumMegabytes -Keep $Keep -Days $Days
}
exit $LASTEXITCODE

<#
.SYNOPSIS
Joins this machine to a cluster as a node.

.DESCRIPTION
Checks first that the machine is as planned (digests and configuration, not what others change), runs kubeadm with
the configuration that imagegen join-data wrote, starts the kubelet with the arguments that kubeadm gives it and
other services in their order, and waits until the kubelet has its certificate and says that it is well.
The configuration holds a secret: it is removed, whatever the outcome, and never shown.
What it does is in C:\imagegen\state\node.log, why it failed in errors.log beside it and in the event log.
Exit codes: 0 joined, 1 failed, 2 plan or scripts refused, 8 drift.

.PARAMETER Configuration
kubeadm's JoinConfiguration.

.PARAMETER Discovery
A kubeconfig that the configuration names, if it does. Removed as well.

.PARAMETER Stage
all; or before and after for whoever runs kubeadm in between, as Cluster API does. The stage before starts one more
of its own, watch, which completes and starts the kubelet as soon as kubeadm has written its arguments. The stage
network, at each start of a machine that joined, brings back a bridge that no agent looks after.

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
    [ValidateSet('all', 'before', 'watch', 'after', 'network')]
    [string] $Stage = 'all',
    [ValidateRange(1, 86400)]
    [int] $TimeoutSeconds = 600,
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
    # Every script against its digest, before one of them is loaded. The engine tells why it refuses.
    $null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Mode 'check' -Platform $Platform
    if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
    . "$PSScriptRoot/../engine/Reason.ps1"
    try {
        Import-Module -Name "$PSScriptRoot/Node.psm1" -ArgumentList $Platform, $root -Force
        if ($Stage -in 'all', 'before') {
            # Digests and configuration; what asks for a program that starts late waits for it.
            Wait-Defender -Seconds ([Math]::Min(300, $TimeoutSeconds))
            & "$PSScriptRoot/Test-Node.ps1" -Platform $Platform
            if ($LASTEXITCODE -ne 0) {
                $code = $LASTEXITCODE
                throw 'this machine is not as planned, so it does not join'
            }
            Initialize-Join -Seconds $TimeoutSeconds
        }
        if ($Stage -eq 'before') { Start-Watch -Seconds $TimeoutSeconds }
        if ($Stage -eq 'watch') { Watch-Join -Seconds $TimeoutSeconds }
        if ($Stage -eq 'all') { Join-Cluster -Configuration $Configuration -Seconds $TimeoutSeconds }
        if ($Stage -in 'all', 'after') { Complete-Join -Seconds $TimeoutSeconds }
        if ($Stage -eq 'network') { Restore-Network -Seconds $TimeoutSeconds }
        $code = 0
    } catch {
        $message = $_.Exception.Message
        Write-Reason -Root $root -Source "Join-Node -Stage $Stage" -Message $message
        if ($null -ne (Get-Command -Name 'Send-Alarm' -ErrorAction SilentlyContinue)) { Send-Alarm -Text $message }
    }
} finally {
    if ($Stage -in 'all', 'after') {
        foreach ($path in $Configuration, $Discovery) {
            if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
        }
    }
}
exit $code

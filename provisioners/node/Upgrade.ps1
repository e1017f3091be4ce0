# Services around an upgrade. Loaded by Node.psm1.

# A program that runs cannot be replaced, and shims of running pods keep those of the runtime open.
function Stop-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'stopping services' -Seconds $Seconds
    $before = @($facts.before)
    [array]::Reverse($before)
    $kept = Suspend-Recovery -Names (@($facts.after) + @('kubelet') + $before)
    try {
        Stop-NodeService -Names (@($facts.after) + @('kubelet'))
        Remove-Pod -Facts $facts
        Stop-NodeService -Names $before
    } finally {
        Restore-Recovery -Kept $kept
    }
}

# Through the runtime, which must run for it. The kubelet makes them again.
function Remove-Pod {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('crictl')) { return }
    Start-NodeService -Names $Facts.runtime
    $arguments = @('--config', "$($Facts.crictlConf)", 'rmp', '--all', '--force')
    $result = Invoke-Program -Program "$($Facts.crictl)" -Arguments $arguments
    if ($result.exitCode -ne 0) {
        throw "crictl rmp exited with $($result.exitCode): $(Protect-Text -Text $result.output)"
    }
    Write-NodeLine -Text 'pods are removed'
}

# As it ran before an upgrade that failed.
function Start-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'starting services' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    Complete-Join -Seconds $Seconds
}

# With the programs of the next version in place: the cluster's configuration for them, then the services.
function Complete-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the upgrade' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    Invoke-Kubeadm -Facts $facts -Arguments @('upgrade', 'node')
    Complete-Join -Seconds $Seconds
}

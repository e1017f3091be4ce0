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
        Stop-Flannel -Facts $facts
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
    $result = Invoke-NodeProgram -Program "$($Facts.crictl)" -Arguments $arguments
    if ($result.exitCode -ne 0) {
        throw "crictl rmp exited with $($result.exitCode): $(Protect-Text -Text $result.output)"
    }
    Write-NodeLine -Text 'pods are removed'
}

# With the programs of the next version in place: the cluster's configuration for them, then the services.
function Complete-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the upgrade' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    Invoke-Kubeadm -Facts $facts -Arguments @('upgrade', 'node')
    Wait-Node -Seconds $Seconds
}

# The plan that was in use, and a node that runs with it. Gives what became of it.
function Restore-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Run, [Parameter(Mandatory)] [bool] $Switched,
        [Parameter(Mandatory)] [int] $Seconds)
    try {
        if ($Switched) { Restore-Payload }
        $null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $Run.platform 6>&1
        if ($LASTEXITCODE -ne 0) { throw 'the plan that was in use could not be applied again' }
        Start-Deadline -Name 'starting services' -Seconds $Seconds
        $facts = Get-NodeFact
        Start-NodeService -Names $facts.before
        Wait-Node -Seconds $Seconds
        'the plan that was in use is back'
    } catch {
        "not restored: $($_.Exception.Message)"
    }
}

# Says whether the kubelet is newer than the plan, as after an upgrade by Kubernetes' own steps.
function Write-NewerVersion {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'the version of the kubelet' -Seconds $Seconds
    $facts = Get-NodeFact
    if (-not (Test-Path -LiteralPath "$($facts.kubelet)" -PathType Leaf)) { return }
    $planned = ([IO.File]::ReadAllText("$($script:Root)/guest-plan.json") | ConvertFrom-Json).kubernetes
    $result = Invoke-NodeProgram -Program "$($facts.kubelet)" -Arguments @('--version')
    if ("$($result.output)" -notmatch 'v([0-9]+\.[0-9]+\.[0-9][^\s]*)') { return }
    $found = $Matches[1]
    $new = ConvertTo-VersionPart -Text $found
    $old = ConvertTo-VersionPart -Text $planned
    if ($new.core -le $old.core) { return }
    $text = "the kubelet is $found, newer than the plan ($planned): "
    Write-NodeLine -Text ($text + "Upgrade-Node.ps1 with the payload of $found adopts it")
}

# Out of the cluster, and the machine as before its join. Loaded by Node.psm1.

# Recovery actions would start a service again that is being stopped. Gives what there was, by service.
function Suspend-Recovery {
    [CmdletBinding()]
    param([string[]] $Names = @())
    $kept = @{}
    foreach ($name in Select-Service -Names $Names) {
        $binary = Get-RegistryValue -Key (Get-ServiceKey -Name $name) -Name 'FailureActions'
        if ($null -eq $binary) { continue }
        $kept[$name] = ConvertFrom-FailureAction -Hex $binary.data
        Set-ServiceFailure -Name $name -ResetSeconds 0 -Actions @()
    }
    $kept
}

# With time of its own, because that of what failed may be over.
function Restore-Recovery {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Kept)
    Start-Deadline -Name 'recovery actions' -Seconds 60
    foreach ($name in @($Kept.Keys)) {
        $failure = $Kept[$name]
        Set-ServiceFailure -Name $name -ResetSeconds $failure.resetSeconds -Actions @($failure.actions)
    }
}

# Load balancers hold endpoints, endpoints hold networks. Networks of type NAT belong to the runtime.
function Clear-HostNetwork {
    [CmdletBinding()]
    param()
    foreach ($kind in 'policylists', 'endpoints', 'networks') {
        foreach ($item in @(Invoke-HostNetwork -Method 'GET' -Path "/$kind")) {
            $id = Get-Field -InputObject $item -Name 'ID'
            if (-not $id) { continue }
            if ($kind -eq 'networks' -and (Get-Field -InputObject $item -Name 'Type') -eq 'NAT') { continue }
            $null = Invoke-HostNetwork -Method 'DELETE' -Path "/$kind/$id"
            Write-NodeLine -Text "removed from ${kind}: $id"
        }
    }
}

# Out of the cluster: what kubeadm takes away, and what it leaves behind on Windows. The engine then brings back
# what an image has.
function Reset-Cluster {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the reset' -Seconds $Seconds
    $kept = Suspend-Recovery -Names (@($facts.after) + @('kubelet'))
    try {
        Stop-NodeService -Names $facts.after
        Stop-NodeService -Names 'kubelet'
        Start-NodeService -Names $facts.runtime
        # Containers are removed through the runtime.
        Invoke-Kubeadm -Facts $facts -Arguments @('reset', '--force', '--cri-socket', "$($facts.criSocket)")
        Stop-Flannel -Facts $facts
        # First what makes it a node of the cluster: a folder that cannot be emptied keeps none of it.
        foreach ($path in @(Get-CompletionMark) + @($facts.joined) + @(Get-ArgumentPath -Facts $facts)) {
            if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
        }
        Clear-HostNetwork
        foreach ($path in $facts.empty) { Clear-Folder -Path $path }
    } finally {
        Restore-Recovery -Kept $kept
    }
    Write-NodeLine -Text 'this node has left its cluster'
}

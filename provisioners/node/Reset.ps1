# Out of the cluster, and the machine as before its join. Loaded by Node.psm1.

# Takes a folder's content away; the folder keeps its access. Of a link the link alone: Remove-Item of 5.1 would
# walk through it. Volumes of pods are among the content, and a pod may put a link there meanwhile, so everything
# is removed by Remove-PlainItem.
function Clear-Folder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $top = Resolve-NativePath -Path $Path
    if (Test-Path -LiteralPath $top -PathType Container) { Remove-Content -Path $top -Below $top }
}

function Remove-Content {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below)
    foreach ($item in @(Get-ChildItem -LiteralPath $Path -Force)) {
        if (-not (Test-Link -Item $item)) {
            if ($item.PSIsContainer) { Remove-Content -Path $item.FullName -Below $Below }
            $item.Attributes = [IO.FileAttributes]::Normal
        }
        # A file that a scanner holds stays in its folder until it lets go.
        Invoke-FileAction -Action { Remove-PlainItem -Path $item.FullName -Below $Below }
    }
}

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
        Clear-HostNetwork
        foreach ($path in $facts.empty) { Clear-Folder -Path $path }
        foreach ($path in @(Get-CompletionMark) + @($facts.joined) + @(Get-ArgumentPath -Facts $facts)) {
            if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
        }
    } finally {
        Restore-Recovery -Kept $kept
    }
    Write-NodeLine -Text 'this node has left its cluster'
}

# What kube-proxy must be told as a service and nobody knows before the join: whose node it is, which addresses are
# those of pods, and in an overlay the address that it speaks with. Loaded by Node.psm1.

# host-local of the CNI programs: it keeps one file for each address that is taken.
function Invoke-AddressPool {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string] $Command,
        [Parameter(Mandatory)] [string] $Network)
    $pool = @{ type = 'host-local'; subnet = $Network; dataDir = "$($Facts.cniState)\networks" }
    $request = @{ cniVersion = '0.2.0'; name = "$($Facts.sourceNetwork)"; ipam = $pool }
    $environment = @{
        CNI_COMMAND = $Command
        CNI_CONTAINERID = 'kube-proxy-source-vip'
        CNI_NETNS = 'none'
        CNI_IFNAME = 'source-vip'
        CNI_PATH = (Split-Path -Path "$($Facts.addressPool)")
    }
    $text = ConvertTo-Json -InputObject $request -Depth 4 -Compress
    Assert-Closed -Path "$($Facts.addressPool)"
    $result = Invoke-NetworkProgram -Program "$($Facts.addressPool)" -Text $text -Environment $environment
    $said = "$($result.output)".Trim()
    if ($result.exitCode -ne 0) { throw "host-local $Command of $Network exited with $($result.exitCode): $said" }
    $said
}

# An address of this node's share of the pod network, taken where the CNI programs take those of pods. The one that
# kube-proxy already has is kept as long as it is taken.
function Get-ReservedAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $form = '(?:^| )--source-vip=([0-9.]+)'
    if ((Read-Argument -Path "$($Facts.proxyFlags)" -Variable 'KUBE_PROXY_ARGS') -match $form) {
        $had = $Matches[1]
        if (Test-Path -LiteralPath "$($Facts.cniState)\networks\$($Facts.sourceNetwork)\$had") { return $had }
    }
    $network = (Wait-NodeNetwork -Facts $Facts).network
    $null = Invoke-AddressPool -Facts $Facts -Command 'DEL' -Network $network
    $said = Invoke-AddressPool -Facts $Facts -Command 'ADD' -Network $network
    if ($said -notmatch '"ip":\s*"([0-9.]+)/') { throw "host-local gave no address of ${network}: $said" }
    $Matches[1]
}

# The address that kube-proxy speaks with: of the end that the pod network's agent makes for it, or one of its own.
function Get-SourceAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if ($Facts.ContainsKey('sourceNetwork')) { return Get-ReservedAddress -Facts $Facts }
    while ($true) {
        $end = Get-HostItem -Kind 'endpoints' -Name "$($Facts.sourceEnd)"
        $address = Get-Field -InputObject $end -Name 'IPAddress'
        if ($address) { return "$address" }
        $null = Get-TimeLeft -Doing "waiting for the end $($Facts.sourceEnd) of the pod network"
        Start-Sleep -Milliseconds 500
    }
}

# As a service it also needs the cluster's configuration, which the join does not bring.
function Start-Proxy {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not (Test-Path -LiteralPath "$($Facts.proxyConf)" -PathType Leaf)) { return }
    $names = @(Select-Service -Names $Facts.after)
    if ($names.Count -gt 0 -and $Facts.ContainsKey('proxyArgument')) {
        $given = Resolve-Mark -Facts $Facts -Text ($Facts.proxyArgument -join ' ') -From 'kube-proxy''s arguments'
        $line = "KUBE_PROXY_ARGS=`"$given`"`n"
        $path = "$($Facts.proxyFlags)"
        if (-not (Test-Path -LiteralPath $path) -or (Read-NodeText -Path $path) -cne $line) {
            Write-TextFile -Path $path -Content $line
            Stop-NodeService -Names $names
        }
    }
    Start-NodeService -Names $names
}

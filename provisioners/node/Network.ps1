# The pod network of a node without an agent: the marks of its configuration are filled in from the cluster, from
# this node's object and from kubeadm's configuration, which nodes may read, and its bridge is made. Loaded by
# Node.psm1.

# A text file as UTF-8, also while its writer has it open. Get-Content of 5.1 would take it for the system's code
# page, and ReadAllText shares with no writer.
function Read-NodeText {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $stream = Open-SharedFile -Path $Path
    try {
        $reader = New-Object -TypeName IO.StreamReader -ArgumentList $stream
        $reader.ReadToEnd()
    } finally {
        $stream.Dispose()
    }
}

# What kubectl says as this node. It may warn besides. $null for what is optional and not there.
function Get-ClusterObject {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string[]] $Arguments,
        [switch] $Optional)
    $all = @('get') + $Arguments + @('--output', 'json', '--kubeconfig', "$($Facts.conf)\kubelet.conf")
    $result = Invoke-NodeProgram -Program "$($Facts.kubectl)" -Arguments $all
    $text = "$($result.output)"
    if ($Optional -and $result.exitCode -ne 0 -and $text -cmatch 'NotFound') { return $null }
    if ($result.exitCode -ne 0) { throw "kubectl get $Arguments exited with $($result.exitCode): $($text.Trim())" }
    $first = $text.IndexOf('{')
    $last = $text.LastIndexOf('}')
    if ($first -lt 0 -or $last -lt $first) { throw "kubectl get $Arguments gave no object: $($text.Trim())" }
    $text.Substring($first, $last - $first + 1) | ConvertFrom-Json
}

# As the kubelet registers itself.
function Get-NodeName {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $given = Read-Argument -Path "$($Facts.arguments)" -Variable 'KUBELET_KUBEADM_ARGS'
    if ($given -match '--hostname-override=([^\s"]+)') { return $Matches[1] }
    [Net.Dns]::GetHostName().ToLowerInvariant()
}

# The first IPv4 address or network in a text. A cluster with two families may name IPv6 first, and pod networks of
# Windows without an agent are of IPv4.
function Select-Ipv4 {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    $form = '(?<![0-9A-Za-z:.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?:/[0-9]{1,2})?(?![0-9A-Za-z:.])'
    [regex]::Matches($Text, $form) | ForEach-Object { $_.Value } | Select-Object -First 1
}

# This node's address and its share of the pod network, for which the cluster takes a moment.
function Wait-NodeNetwork {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $name = Get-NodeName -Facts $Facts
    while ($true) {
        # From 1.34 on kubeadm may be done before the kubelet has made the node's object.
        $node = Get-ClusterObject -Facts $Facts -Arguments @('node', $name) -Optional
        $spec = Get-Field -InputObject $node -Name 'spec'
        $shares = @('podCIDR', 'podCIDRs' | ForEach-Object { Get-Field -InputObject $spec -Name $_ }) -join ' '
        $share = Select-Ipv4 -Text $shares
        if ($shares.Trim() -and -not $share) { throw "node $name has no share of an IPv4 pod network: $shares" }
        $status = Get-Field -InputObject $node -Name 'status'
        $addresses = @(Get-Field -InputObject $status -Name 'addresses') |
            Where-Object { $null -ne $_ -and $_.type -eq 'InternalIP' } | ForEach-Object { $_.address }
        $address = Select-Ipv4 -Text (@($addresses) -join ' ')
        if ($share -and $address) { return @{ network = $share; address = $address } }
        $null = Get-TimeLeft -Doing "waiting for the IPv4 address and the pod network of node $name"
        Start-Sleep -Milliseconds 500
    }
}

# The same, once the address is one of this machine: after a start with another one the cluster has the one before,
# until the kubelet tells it.
function Wait-NodeAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    while ($true) {
        $node = Wait-NodeNetwork -Facts $Facts
        if (Test-NetworkAddress -Address $node.address) { return $node }
        $null = Get-TimeLeft -Doing "waiting for the new address of this node, which had $($node.address)"
        Start-Sleep -Milliseconds 500
    }
}

# The nth address of an IPv4 network, `10.244.3.0/24`.
function Get-NetworkAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Network, [Parameter(Mandatory)] [int] $Number)
    $parts = $Network.Split('/')[0].Split('.')
    if ($parts.Count -ne 4) { throw "$Network is no IPv4 network" }
    $parts[3] = [string]([int]$parts[3] + $Number)
    $parts -join '.'
}

# The network that an IPv4 address lies in, by the length of its prefix.
function Get-AddressNetwork {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Address, [Parameter(Mandatory)] [int] $Length)
    $bytes = [Net.IPAddress]::Parse($Address).GetAddressBytes()
    for ($i = 0; $i -lt 4; $i++) {
        $bits = [Math]::Max(0, [Math]::Min(8, $Length - 8 * $i))
        $bytes[$i] = [byte]($bytes[$i] -band (256 - [int][Math]::Pow(2, 8 - $bits)))
    }
    "$($bytes -join '.')/$Length"
}

# A value of a file in YAML, by its key.
function Select-YamlValue {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text, [Parameter(Mandatory)] [string] $Key)
    $form = '(?m)^\s*{0}:\s*(?:-\s*)?["'']?([^\s"'',]+)' -f [regex]::Escape($Key)
    if ($Text -match $form) { $Matches[1] }
}

# The first IPv4 address or network of a key's value, of its list, or of several behind commas.
function Select-YamlAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text, [Parameter(Mandatory)] [string] $Key)
    $form = '(?m)^\s*{0}:([^\r\n]*(?:\r?\n[ \t]*-[^\r\n]*)*)' -f [regex]::Escape($Key)
    if ($Text -match $form) { Select-Ipv4 -Text $Matches[1] }
}

# What the marks of a configuration stand for. Only what it asks for is looked up.
function Get-NetworkMark {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string] $Text)
    $marks = @{}
    if ($Text -match '@(NODE_(ADDRESS|NETWORK|POD_[A-Z]+)|NETWORK_CARD)@') {
        $node = Wait-NodeAddress -Facts $Facts
        $card = Get-NetworkCard -Address $node.address
        $marks['@NODE_ADDRESS@'] = $node.address
        $marks['@NODE_POD_NETWORK@'] = $node.network
        $marks['@NODE_POD_GATEWAY@'] = Get-NetworkAddress -Network $node.network -Number 2
        $marks['@NODE_POD_FIRST@'] = Get-NetworkAddress -Network $node.network -Number 3
        $marks['@NETWORK_CARD@'] = $card.name
        $marks['@NODE_NETWORK@'] = Get-AddressNetwork -Address $node.address -Length $card.length
    }
    if ($Text -match '@NODE_NAME@') { $marks['@NODE_NAME@'] = Get-NodeName -Facts $Facts }
    if ($Text -match '@SOURCE_VIP@') { $marks['@SOURCE_VIP@'] = Get-SourceAddress -Facts $Facts }
    if ($Text -match '@(POD|SERVICE)_NETWORK@') {
        $which = 'configmap', 'kubeadm-config', '--namespace', 'kube-system'
        $map = Get-Field -InputObject (Get-ClusterObject -Facts $Facts -Arguments $which) -Name 'data'
        $cluster = "$(Get-Field -InputObject $map -Name 'ClusterConfiguration')"
        $marks['@POD_NETWORK@'] = Select-YamlAddress -Text $cluster -Key 'podSubnet'
        $marks['@SERVICE_NETWORK@'] = Select-YamlAddress -Text $cluster -Key 'serviceSubnet'
    }
    if ($Text -match '@DNS_') {
        $kubelet = Read-NodeText -Path "$($Facts.kubeletRoot)\config.yaml"
        $marks['@DNS_SERVER@'] = Select-YamlAddress -Text $kubelet -Key 'clusterDNS'
        $marks['@DNS_DOMAIN@'] = Select-YamlValue -Text $kubelet -Key 'clusterDomain'
    }
    $marks
}

function Get-NetworkPath {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    Join-Path -Path "$($Facts.cniConf)" -ChildPath (Split-Path -Path "$($Facts.network)" -Leaf)
}

# A text with its marks filled in; one that the cluster does not tell is an error that names where it stands.
function Resolve-Mark {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string] $Text,
        [Parameter(Mandatory)] [string] $From)
    $marks = Get-NetworkMark -Facts $Facts -Text $Text
    foreach ($mark in @($marks.Keys)) {
        if ($marks[$mark]) { $Text = $Text.Replace($mark, $marks[$mark]) }
    }
    $left = @([regex]::Matches($Text, '@[A-Z_]+@') | ForEach-Object { $_.Value } | Sort-Object -Unique)
    if ($left.Count -gt 0) {
        throw "the cluster does not tell $($left -join ', '): name it as network of the image ($From)"
    }
    $Text
}

# containerd gives the host's network to HostProcess pods alone. Pods of agents that reach the host through wins
# start in the network nat; the agent that writes the pod network's configuration takes this one away.
function Initialize-StartNetwork {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('startNetwork')) { return }
    $template = "$($Facts.startNetwork)"
    $nat = Initialize-NatNetwork
    $text = (Read-NodeText -Path $template).Replace('@NAT_NETWORK@', $nat.network)
    $text = $text.Replace('@NAT_GATEWAY@', $nat.gateway)
    $path = Join-Path -Path "$($Facts.cniConf)" -ChildPath (Split-Path -Path $template -Leaf)
    Write-TextFile -Path $path -Content $text
    Write-NodeLine -Text "pods of agents start in the network nat, $($nat.network)"
}

# Fills in the pod network's configuration where no agent does, and lays it where the runtime looks for it.
function Complete-Network {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('network')) { return }
    $template = "$($Facts.network)"
    $text = Resolve-Mark -Facts $Facts -Text (Read-NodeText -Path $template) -From $template
    # With its configuration the node takes pods, so the bridge comes first.
    Initialize-Bridge -Facts $Facts -Text $text
    $path = Get-NetworkPath -Facts $Facts
    Write-TextFile -Path $path -Content $text
    Write-NodeLine -Text "the pod network is configured in $path"
}

# flanneld is a task that starts when it knows its node. Its credentials are the cluster's, which the join does not
# bring.
function Start-Flannel {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('flannel')) { return }
    if (-not (Test-Path -LiteralPath "$($Facts.flannel)\kubeconfig.conf" -PathType Leaf)) { return }
    $template = "$($Facts.flannelTemplate)"
    $text = Resolve-Mark -Facts $Facts -Text (Read-NodeText -Path $template) -From $template
    Write-TextFile -Path "$($Facts.flannel)\net-conf.json" -Content $text
    Write-TextFile -Path "$($Facts.flannel)\node-name" -Content "$(Get-NodeName -Facts $Facts)`r`n"
    Wait-CardAddress
    Start-Task -Name 'imagegen-flanneld'
    Write-NodeLine -Text 'flanneld is started'
}

function Stop-Flannel {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('flannel')) { return }
    # Without its name the task starts nothing at the next minute.
    foreach ($name in 'node-name', 'net-conf.json') {
        $path = "$($Facts.flannel)\$name"
        if (Test-Path -LiteralPath $path -PathType Leaf) { Remove-Item -LiteralPath $path -Force }
    }
    Stop-Task -Name 'imagegen-flanneld' -Program "$($Facts.flanneld)"
}

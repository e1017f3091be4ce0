<#
.SYNOPSIS
    Starts kube-proxy on the host once the pod network stands.
.DESCRIPTION
    Runs in a HostProcess container, or in an ordinary one that reaches the host through wins.
    Arguments come from arguments.json beside the kubeconfig; values that only the node knows are filled in here.
.EXAMPLE
    Start-KubeProxy.ps1 -Config C:\config -HostConfig C:\config -NetworkName cbr0 -Program C:\k\kube-proxy.exe
#>
[CmdletBinding()]
param(
    # Folder with arguments.json and kubeconfig.conf, as this container sees it.
    [Parameter(Mandatory)] [string] $Config,
    # The same folder as the host sees it.
    [Parameter(Mandatory)] [string] $HostConfig,
    # Where the host's folders are mounted; empty in a HostProcess container.
    [string] $HostRoot = '',
    # How the source address is found: empty, 'host-local', or the name of an HNS endpoint.
    [string] $SourceVip = '',
    [Parameter(Mandatory)] [string] $NetworkName,
    [Parameter(Mandatory)] [string] $Program,
    [switch] $Wins
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

function Wait-File {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    while (-not (Test-Path -LiteralPath $Path)) {
        Write-Output -InputObject "waiting for $Path"
        Start-Sleep -Seconds 5
    }
}

# The network's address of a prefix such as 10.244.3.1/24.
function Get-Network {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Prefix)
    $address, $length = $Prefix.Split('/')
    $bytes = [Net.IPAddress]::Parse($address).GetAddressBytes()
    for ($i = 0; $i -lt 4; $i++) {
        $bits = [Math]::Min(8, [Math]::Max(0, [int] $length - 8 * $i))
        $bytes[$i] = $bytes[$i] -band (256 - [Math]::Pow(2, 8 - $bits))
    }
    "$([Net.IPAddress]::new($bytes))/$length"
}

# host-local of the CNI programs: it keeps one file for each address that is taken.
function Invoke-AddressPool {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Command, [Parameter(Mandatory)] [string] $Subnet)
    $request = @{
        cniVersion = '0.2.0'
        name = $NetworkName
        ipam = @{
            type = 'host-local'
            ranges = @(, @(@{ subnet = $Subnet }))
            dataDir = "$HostRoot/var/lib/cni/networks"
        }
    }
    $env:CNI_COMMAND = $Command
    $env:CNI_CONTAINERID = 'kube-proxy-source-vip'
    $env:CNI_NETNS = 'none'
    $env:CNI_IFNAME = 'source-vip'
    $env:CNI_PATH = "$HostRoot\opt\cni\bin"
    $answer = ConvertTo-Json -InputObject $request -Depth 9 | & "$HostRoot\opt\cni\bin\host-local.exe"
    if ($LASTEXITCODE -ne 0) {
        throw "host-local $Command of ${Subnet} exited with ${LASTEXITCODE}: $answer"
    }
    -join $answer
}

# The address that an earlier start reserved and noted. A note that cannot be read is none.
function Get-KeptAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Subnet)
    try {
        $old = [IO.File]::ReadAllText($Path) | ConvertFrom-Json
        if ("$($old.subnet)" -eq $Subnet) {
            return "$($old.address)"
        }
    } catch {
        Write-Verbose -Message "no note of the address in ${Path}: $($_.Exception.Message)"
    }
}

# Reserves an address of the node's pod network where the CNI plugin keeps its own, so that no pod gets it. A start
# that was interrupted may have reserved one and noted nothing, and host-local refuses a second one
# (rancher/rke2#5704): what this container had is given back first.
function Get-ReservedAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Subnet)
    $note = "$HostRoot\var\lib\cni\source-vip.json"
    $kept = Get-KeptAddress -Path $note -Subnet $Subnet
    $pool = "$HostRoot\var\lib\cni\networks\$NetworkName"
    if ($kept -and (Test-Path -LiteralPath "$pool\$kept")) {
        return $kept
    }
    $null = Invoke-AddressPool -Command 'DEL' -Subnet $Subnet
    $answer = Invoke-AddressPool -Command 'ADD' -Subnet $Subnet | ConvertFrom-Json
    $address = $answer.ip4.ip.Split('/')[0]
    $new = ConvertTo-Json -InputObject @{ subnet = $Subnet; address = $address } -Compress
    [IO.File]::WriteAllText("$note.partial", $new)
    Move-Item -LiteralPath "$note.partial" -Destination $note -Force
    $address
}

# This node's share of the overlay: that of the HNS network, whoever makes it. A container that reaches the host
# through wins cannot ask for it, and reads flannel's file.
function Get-PodSubnet {
    [CmdletBinding()]
    param()
    if ($HostRoot) {
        Wait-File -Path "$HostRoot\run\flannel\subnet.env"
        $line = Get-Content -LiteralPath "$HostRoot\run\flannel\subnet.env" |
            Where-Object -FilterScript { $_.StartsWith('FLANNEL_SUBNET=') }
        return Get-Network -Prefix ($line.Split('=')[1].Trim())
    }
    while ($true) {
        $networks = Get-HnsNetwork -ErrorAction Stop
        $network = $networks | Where-Object -FilterScript { $_.Name -eq $NetworkName } | Select-Object -First 1
        if ($network) {
            return @($network.Subnets)[0].AddressPrefix
        }
        Write-Verbose -Message "waiting for the network $NetworkName"
        Start-Sleep -Seconds 5
    }
}

function Get-SourceAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $From)
    if ($From -ne 'host-local') {
        while ($true) {
            $endpoints = Get-HnsEndpoint -ErrorAction Stop
            $endpoint = $endpoints | Where-Object -FilterScript { $_.Name -eq $From } | Select-Object -First 1
            if ($endpoint) {
                return $endpoint.IPAddress
            }
            Write-Verbose -Message "waiting for the endpoint $From"
            Start-Sleep -Seconds 5
        }
    }
    Get-ReservedAddress -Subnet (Get-PodSubnet)
}

Wait-File -Path "$HostRoot\etc\cni\net.d\*.conf*"
$address = ''
if ($SourceVip) {
    $address = Get-SourceAddress -From $SourceVip
}
$list = Get-Content -LiteralPath "$Config\arguments.json" -Raw | ConvertFrom-Json
$arguments = foreach ($argument in $list) {
    $argument = $argument.Replace('${NODE_NAME}', $env:NODE_NAME).Replace('${SOURCE_VIP}', $address)
    $argument.Replace('${KUBECONFIG}', "$HostConfig\kubeconfig.conf")
}
if ($Wins) {
    # wins moves the program away when it starts it: each start needs a new copy.
    Copy-Item -LiteralPath $Program -Destination "$HostRoot\k\kube-proxy\kube-proxy.exe" -Force
    & wins.exe cli process run --path $Program --args ($arguments -join ' ')
} else {
    # kube-proxy does not know the load balancers that one before it left behind.
    if (Get-Command -Name Remove-HnsPolicyList -ErrorAction SilentlyContinue) {
        Get-HnsPolicyList -ErrorAction Stop | Remove-HnsPolicyList -ErrorAction Stop
    }
    & $Program @arguments
}
exit $LASTEXITCODE

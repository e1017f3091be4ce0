<#
.SYNOPSIS
    Writes the CNI configuration of flannel on the host and starts flanneld there.
.DESCRIPTION
    Runs in a HostProcess container, or in an ordinary one that reaches the host through wins.
.EXAMPLE
    Start-Flannel.ps1 -Config C:\config -HostConfig C:\config -Program C:\k\flannel\flanneld.exe
#>
[CmdletBinding()]
param(
    # Folder with the configuration files, as this container sees it.
    [Parameter(Mandatory)] [string] $Config,
    # The same folder as the host sees it.
    [Parameter(Mandatory)] [string] $HostConfig,
    # Where the host's folders are mounted; empty in a HostProcess container.
    [string] $HostRoot = '',
    [Parameter(Mandatory)] [string] $Program,
    # Addresses of clouds' metadata services, with commas between them. The way there goes when the network card
    # moves to the virtual switch.
    [string] $KeepRoutes = '',
    [switch] $Wins
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# The network is made on the card with the node's address, which DHCP may bring late.
function Wait-Address {
    param([string] $Address, [int] $Seconds = 120)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $cards = foreach ($card in [Net.NetworkInformation.NetworkInterface]::GetAllNetworkInterfaces()) {
            $own = @($card.GetIPProperties().UnicastAddresses | ForEach-Object { "$($_.Address)" })
            if ($own -contains $Address) { return }
            if ("$($card.OperationalStatus)" -eq 'Up') { "$($card.Name) ($($own -join ', '))" }
        }
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) { break }
        Start-Sleep -Milliseconds 500
    }
    throw "no card has the node's address $Address after $Seconds s: $(@($cards) -join '; ')"
}

# Makes the host's own route to the address last. Without one, the default route leads there, as before.
function Save-Route {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Address)
    $found = Find-NetRoute -RemoteIPAddress $Address -ErrorAction SilentlyContinue |
        Where-Object -FilterScript { $_.CimClass.CimClassName -eq 'MSFT_NetRoute' } | Select-Object -First 1
    if ($found -and $found.DestinationPrefix -ne '0.0.0.0/0') {
        & "$env:SystemRoot\System32\route.exe" -p add $Address mask 255.255.255.255 $found.NextHop
    }
}

if ($Wins) {
    'with wins this container does not see the cards of the host: flanneld starts without a wait for an address'
} else {
    Wait-Address -Address $env:HOST_IP
}

# No byte order mark: containerd reads the file.
$folder = "$HostRoot\etc\cni\net.d"
$text = [IO.File]::ReadAllText("$Config\cni-conf.json").Replace('${HOST_IP}', $env:HOST_IP)
[IO.File]::WriteAllText("$folder\10-flannel.new", $text)
Move-Item -LiteralPath "$folder\10-flannel.new" -Destination "$folder\10-flannel.conf" -Force
# With what this pod itself was started; containerd takes the first file by name.
$start = "$folder\0-containerd-nat.json"
if (Test-Path -LiteralPath $start) { Remove-Item -LiteralPath $start -Force }

$arguments = @(
    '--kube-subnet-mgr'
    "--kubeconfig-file=$HostConfig\kubeconfig.conf"
    "--net-config-path=$HostConfig\net-conf.json"
    "--iface=$env:HOST_IP"
)
foreach ($address in $KeepRoutes.Split([char[]] ',', [StringSplitOptions]::RemoveEmptyEntries)) {
    if ($Wins) {
        # A container cannot see the host's routes: wins copies the default route.
        & wins.exe cli route add --addresses $address
    } else {
        Save-Route -Address $address
    }
}
if ($Wins) {
    # wins moves the program away when it starts it: each start needs a new copy.
    Copy-Item -LiteralPath $Program -Destination "$HostRoot\k\flannel\flanneld.exe" -Force
    & wins.exe cli process run --path $Program --args ($arguments -join ' ') --envs "NODE_NAME=$env:NODE_NAME"
} else {
    & $Program @arguments
}
exit $LASTEXITCODE

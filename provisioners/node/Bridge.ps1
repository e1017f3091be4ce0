# Networks of the host network service: the bridge of a pod network without an agent, and the network that pods of
# agents start in. Loaded by Node.psm1.

# What the host network service has under a name.
function Get-HostItem {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Kind, [Parameter(Mandatory)] [string] $Name)
    foreach ($item in @(Invoke-HostNetwork -Method 'GET' -Path "/$Kind")) {
        if ("$(Get-Field -InputObject $item -Name 'Name')" -ceq $Name) { return $item }
    }
}

function Remove-HostItem {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Kind, [Parameter(Mandatory)] [psobject] $Item)
    $null = Invoke-HostNetwork -Method 'DELETE' -Path "/$Kind/$($Item.ID)"
    Write-NodeLine -Text "$Kind $($Item.Name) is gone: it was of another network"
}

# The card of the node's address by the configuration of its pods, whose traffic to that address is encapsulated.
# Without a name Windows chooses one of several cards. Nothing where the card is one of a switch, which no bridge
# takes, or where the address has changed.
function Get-BridgeCard {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    if ($Text -notmatch '"DestinationPrefix":\s*"([0-9.]+)/32"') { return }
    $address = $Matches[1]
    if (-not (Test-NetworkAddress -Address $address)) { return }
    $card = Get-NetworkCard -Address $address
    if ($null -ne $card -and $card.name -notlike 'vEthernet*') { $card.name }
}

# Before a host network is made: Windows binds it to a card, and one without an address of its network, which DHCP
# may bring late, reaches nobody.
function Wait-CardAddress {
    [CmdletBinding()]
    param([int] $Seconds = 120)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $cards = @(Get-CardAddress)
        $found = @($cards | ForEach-Object { $_.addresses } | Where-Object { $_ -notlike '169.254.*' })
        if ($found.Count -gt 0) { return }
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) { break }
        Start-Sleep -Milliseconds 500
    }
    $told = @($cards | ForEach-Object { "$($_.name) ($((@($_.addresses) + 'none')[0]))" }) -join ', '
    if (-not $told) { $told = 'no card is up' }
    throw "no card has an address of its network after $Seconds s: $told"
}

# The bridge that the pods hang on: a network of the host with this node's share of the pod network. One of another
# share is left from another cluster.
function Initialize-BridgeNetwork {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [string] $Network, [string] $Card)
    $subnet = @{ AddressPrefix = $Network; GatewayAddress = (Get-NetworkAddress -Network $Network -Number 1) }
    $bridge = Get-HostItem -Kind 'networks' -Name $Name
    if ($null -ne $bridge) {
        $prefixes = foreach ($item in @(Get-Field -InputObject $bridge -Name 'Subnets')) {
            Get-Field -InputObject $item -Name 'AddressPrefix'
        }
        if (@($prefixes) -notcontains $Network) {
            Remove-HostItem -Kind 'networks' -Item $bridge
            $bridge = $null
        }
    }
    if ($null -eq $bridge) {
        $wanted = @{ Name = $Name; Type = 'L2Bridge'; Subnets = @($subnet) }
        if ($Card) { $wanted.NetworkAdapterName = $Card }
        Wait-CardAddress
        $body = ConvertTo-Json -InputObject $wanted -Depth 4 -Compress
        $bridge = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body $body
        Write-NodeLine -Text "the bridge $Name is made for $Network"
    }
    # The card becomes a port of a switch, and its address moves to the switch's own card.
    while ($true) {
        $bridge = Invoke-HostNetwork -Method 'GET' -Path "/networks/$($bridge.ID)"
        $own = Get-Field -InputObject $bridge -Name 'ManagementIP'
        if ($own -and (Test-NetworkAddress -Address $own)) { return $bridge }
        $null = Get-TimeLeft -Doing "waiting for the address of this machine on the bridge $Name"
        Start-Sleep -Milliseconds 500
    }
}

# The host's own end of the bridge, at the address that pods have for their gateway.
function Initialize-BridgeEnd {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [psobject] $Bridge, [Parameter(Mandatory)] [string] $Address)
    $name = "$($Bridge.Name)_ep"
    $end = Get-HostItem -Kind 'endpoints' -Name $name
    if ($null -ne $end -and "$(Get-Field -InputObject $end -Name 'IPAddress')" -ne $Address) {
        Remove-HostItem -Kind 'endpoints' -Item $end
        $end = $null
    }
    if ($null -eq $end) {
        $body = @{ Name = $name; VirtualNetwork = $Bridge.ID; IPAddress = $Address } | ConvertTo-Json -Compress
        $end = Invoke-HostNetwork -Method 'POST' -Path '/endpoints' -Body $body
    }
    # To attach it once more is an error.
    if (-not (Test-NetworkAddress -Address $Address)) {
        $body = @{ CompartmentId = 1; SystemType = 'Host' } | ConvertTo-Json -Compress
        $null = Invoke-HostNetwork -Method 'POST' -Path "/endpoints/$($end.ID)/attach" -Body $body
    }
    while (-not (Test-NetworkAddress -Address $Address)) {
        $null = Get-TimeLeft -Doing "waiting for $Address on the bridge $($Bridge.Name)"
        Start-Sleep -Milliseconds 500
    }
}

# A pod network whose programs expect a bridge that no agent makes. The configuration says which addresses it has.
function Initialize-Bridge {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string] $Text)
    if (-not $Facts.ContainsKey('bridge')) { return }
    $network = "$(($Text | ConvertFrom-Json).ipam.subnet)"
    $card = "$(Get-BridgeCard -Text $Text)"
    $bridge = Initialize-BridgeNetwork -Name "$($Facts.bridge)" -Network $network -Card $card
    $address = Get-NetworkAddress -Network $network -Number 2
    Initialize-BridgeEnd -Bridge $bridge -Address $address
    foreach ($end in $bridge.ManagementIP, $address) { Enable-Forwarding -Address $end }
}

# This node's address in the configuration of its pods, whose traffic to it is encapsulated or comes from it.
function Get-ConfiguredAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    if ($Text -match '"(?:DestinationPrefix|ProviderAddress)":\s*"([0-9.]+)(?:/32)?"') { $Matches[1] }
}

# After a restart: the bridge as it was when this machine joined. With another address the node is not completed:
# where the cluster does not know the address in time, the task of each minute goes on.
function Restore-Network {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the network' -Seconds $Seconds
    if (-not $facts.ContainsKey('network')) { return }
    $path = Get-NetworkPath -Facts $facts
    if (-not (Test-Path -LiteralPath $path)) { return }
    # The host network service starts late, and a task is not started again because its program failed. A reason
    # that stays is told once.
    $told = ''
    while ($true) {
        try {
            $text = Read-NodeText -Path $path
            $address = Get-ConfiguredAddress -Text $text
            # The card of this address carries the bridge. Without the address, which may come late, Windows would
            # choose one of several cards; the completion below waits for it.
            $isHere = -not $address -or (Test-NetworkAddress -Address $address)
            if ($isHere) { Initialize-Bridge -Facts $facts -Text $text }
            break
        } catch {
            $why = $_.Exception.Message
            if ($why -cne $told) { Write-NodeLine -Text "the bridge is not there yet: $why" }
            $told = $why
        }
        $null = Get-TimeLeft -Doing 'bringing back the bridge'
        Start-Sleep -Seconds 1
    }
    if ($isHere) { return }
    Write-NodeLine -Text "this machine does not have ${address} now: its pod network is configured anew"
    $mark = Get-CompletionMark
    if (Test-Path -LiteralPath $mark -PathType Leaf) { Remove-Item -LiteralPath $mark -Force }
}

# The network that Docker would make at its start. Windows chooses its addresses.
function Initialize-NatNetwork {
    [CmdletBinding()]
    param()
    $nat = Get-HostItem -Kind 'networks' -Name 'nat'
    if ($null -eq $nat) {
        Wait-CardAddress
        $body = ConvertTo-Json -InputObject @{ Name = 'nat'; Type = 'NAT' } -Compress
        $nat = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body $body
    }
    while ($true) {
        $nat = Invoke-HostNetwork -Method 'GET' -Path "/networks/$($nat.ID)"
        foreach ($subnet in @(Get-Field -InputObject $nat -Name 'Subnets')) {
            $prefix = Get-Field -InputObject $subnet -Name 'AddressPrefix'
            $gateway = Get-Field -InputObject $subnet -Name 'GatewayAddress'
            if ($prefix -and $gateway) { return @{ network = "$prefix"; gateway = "$gateway" } }
        }
        $null = Get-TimeLeft -Doing 'waiting for the addresses of the network nat'
        Start-Sleep -Milliseconds 500
    }
}

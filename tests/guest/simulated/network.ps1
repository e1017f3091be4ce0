# Ports, host networks and cards.

function Get-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $range = Get-Simulation -Area 'dynamicPorts' -Name $Protocol
    if ($null -eq $range) { @{ start = 49152; count = 16384 } } else { $range }
}

function Set-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    Confirm-Simulation -Ability 'Set-DynamicPort'
    Set-Simulation -Area 'dynamicPorts' -Name $Protocol -Value @{ start = $Start; count = $Count }
}

function Get-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $ranges = Get-Simulation -Area 'excludedPorts' -Name $Protocol
    if ($null -ne $ranges) { $ranges | ForEach-Object { $_ } }
}

function Add-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    Confirm-Simulation -Ability 'Add-ExcludedPort'
    $ranges = @(Get-ExcludedPort -Protocol $Protocol)
    $end = $Start + $Count
    if (@($ranges | Where-Object { $_.start -lt $end -and $Start -lt $_.start + $_.count }).Count -gt 0) {
        throw "ports from $Start on are excluded already"
    }
    $ranges += @{ start = $Start; count = $Count }
    Set-Simulation -Area 'excludedPorts' -Name $Protocol -Value $ranges
}

function Get-NetworkCard {
    [CmdletBinding()]
    param([string] $Address)
    if (-not (Test-NetworkAddress -Address $Address)) { throw "no card has the address $Address" }
    @{ name = (Get-Simulation -Area 'cards' -Name $Address); length = 20 }
}

function Test-NetworkAddress {
    [CmdletBinding()]
    param([string] $Address)
    $null -ne (Get-Simulation -Area 'cards' -Name $Address)
}

# One card, whose address may be late: `os/address` is what it has instead.
function Get-CardAddress {
    [CmdletBinding()]
    param()
    $address = Get-Simulation -Area 'os' -Name 'address'
    if ($null -eq $address) { $address = '10.1.18.7' }
    @{ name = 'Ethernet 2'; addresses = @($address | Where-Object { $_ }) }
}

function Enable-Forwarding {
    [CmdletBinding()]
    param([string] $Address)
    if (-not (Test-NetworkAddress -Address $Address)) { throw "no card has the address $Address" }
    Set-Simulation -Area 'forwarding' -Name $Address -Value 'enabled'
}

# Kinds are areas of their own; a network's name is its ID too. One of type NAT gets its addresses when it is made.
# A new network has the machine's address when it is asked for again; an end that is attached to the host gives it
# its address.
function Invoke-HostNetwork {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Body = '')
    Confirm-Simulation -Ability 'Invoke-HostNetwork'
    $null, $kind, $name, $action = $Path.Split('/')
    $there = $null
    if ($name) {
        $there = Get-Simulation -Area $kind -Name $name
        if ($null -eq $there) { throw "host networks: $Method $Path failed: not found" }
    }
    if ($Method -eq 'DELETE') { return Set-Simulation -Area $kind -Name $name -Value $null }
    if ($action -eq 'attach') {
        $end = $there
        if (Test-NetworkAddress -Address $end.IPAddress) { throw "host networks: $Path failed: it is attached" }
        return Set-Simulation -Area 'cards' -Name $end.IPAddress -Value "vEthernet ($name)"
    }
    if ($Method -eq 'POST') {
        $item = $Body | ConvertFrom-Json -AsHashtable
        $item.ID = $item.Name
        if ($item['Type'] -eq 'NAT') {
            $item.Subnets = @(@{ AddressPrefix = '172.20.0.0/20'; GatewayAddress = '172.20.0.1' })
        }
        Set-Simulation -Area $kind -Name $item.Name -Value $item
        return ConvertTo-HostItem -Item $item
    }
    if ($null -ne $there) {
        $there.ManagementIP = '10.1.18.7'
        return ConvertTo-HostItem -Item $there
    }
    foreach ($name in Get-SimulationName -Area $kind) {
        ConvertTo-HostItem -Item (Get-Simulation -Area $kind -Name $name)
    }
}

# As the host network service answers: objects in objects, for which hashtables are no stand-in.
function ConvertTo-HostItem {
    [CmdletBinding()]
    param($Item)
    ConvertTo-Json -InputObject $Item -Depth 8 | ConvertFrom-Json
}

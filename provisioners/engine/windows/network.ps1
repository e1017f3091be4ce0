# Ports, host networks and cards.

# netsh speaks the language of the system: only its numbers are looked at.
function Get-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $arguments = @('int', 'ipv4', 'show', 'dynamicport', $Protocol)
    $text = (Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments).output
    $numbers = [regex]::Matches($text, '\b(\d+)\s*$', 'Multiline')
    if ($numbers.Count -ne 2) { throw "netsh shows no range of dynamic ports: $text" }
    @{ start = [int]$numbers[0].Groups[1].Value; count = [int]$numbers[1].Groups[1].Value }
}

function Set-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    $range = @("start=$Start", "num=$Count")
    $arguments = @('int', 'ipv4', 'set', 'dynamicport', $Protocol) + $range
    $null = Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments
}

function Get-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $arguments = @('int', 'ipv4', 'show', 'excludedportrange', "protocol=$Protocol")
    $text = (Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments).output
    foreach ($row in [regex]::Matches($text, '^\s*(\d+)\s+(\d+)', 'Multiline')) {
        $start = [int]$row.Groups[1].Value
        @{ start = $start; count = [int]$row.Groups[2].Value - $start + 1 }
    }
}

function Add-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    $range = @("startport=$Start", "numberofports=$Count", 'store=persistent')
    $arguments = @('int', 'ipv4', 'add', 'excludedportrange', "protocol=$Protocol") + $range
    $null = Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments
}

# The host network service has no command in Windows PowerShell: its library is called.
function Invoke-HostNetwork {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Body = '')
    $text = '[MarshalAs(UnmanagedType.LPWStr)]'
    $signature = '[DllImport("vmcompute.dll")] public static extern void HNSCall('
    $signature += "$text string method, $text string path, $text string request, $text out string response);"
    $native = Add-NativeClass -Name 'HostNetwork' -Text $signature
    $response = ''
    $native::HNSCall($Method, $Path, $Body, [ref]$response)
    # A service that has not started yet gives no text, which is no JSON.
    if (-not $response) { throw "host networks: $Method $Path has no answer: the service hns does not run yet" }
    $answer = $response | ConvertFrom-Json
    if (-not $answer.Success) { throw "host networks: $Method $Path failed: $response" }
    if ($null -ne $answer.PSObject.Properties['Output']) { $answer.Output }
}

# The card with an address, and the length of its network's prefix.
function Get-NetworkCard {
    [CmdletBinding()]
    param([string] $Address)
    $found = @(Get-NetIPAddress -IPAddress $Address -ErrorAction Stop)[0]
    @{ name = $found.InterfaceAlias; length = [int]$found.PrefixLength }
}

function Test-NetworkAddress {
    [CmdletBinding()]
    param([string] $Address)
    @(Get-NetIPAddress -ErrorAction Stop | Where-Object { $_.IPAddress -eq $Address }).Count -gt 0
}

# Cards that are up, each with its IPv4 addresses. The network nat is of containers alone.
function Get-CardAddress {
    [CmdletBinding()]
    param()
    $cards = @(Get-NetAdapter -ErrorAction Stop | Where-Object { $_.Status -eq 'Up' })
    $all = @(Get-NetIPAddress -AddressFamily IPv4 -ErrorAction Stop)
    foreach ($card in $cards) {
        if ($card.Name -eq 'vEthernet (nat)') { continue }
        $own = @($all | Where-Object { $_.InterfaceIndex -eq $card.ifIndex } | ForEach-Object { $_.IPAddress })
        @{ name = $card.Name; addresses = $own }
    }
}

# The card with an address passes on what is not its own.
function Enable-Forwarding {
    [CmdletBinding()]
    param([string] $Address)
    $found = @(Get-NetIPAddress -IPAddress $Address -ErrorAction Stop)[0]
    $card = @{ InterfaceIndex = $found.InterfaceIndex; AddressFamily = 'IPv4' }
    Set-NetIPInterface @card -Forwarding Enabled -ErrorAction Stop
}

# Rules of the firewall.

function Get-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $rule = Get-Simulation -Area 'firewall' -Name $Name
    if ($null -eq $rule) { return $null }
    $rule.overruledIn = @('Domain', 'Private', 'Public' | Where-Object {
        $profileKey = "HKLM:\SOFTWARE\Policies\Microsoft\WindowsFirewall\${_}Profile"
        $merges = Get-RegistryValue -Key $profileKey -Name 'AllowLocalPolicyMerge'
        $null -ne $merges -and $merges.data -eq 0
    })
    $rule
}

# A network as Windows gives it back, with a mask.
function ConvertTo-Mask {
    [CmdletBinding()]
    param([string] $Address)
    if ($Address -notmatch '^(\d+\.\d+\.\d+\.\d+)/(\d+)$') { return $Address }
    $network, $length = $Matches[1], [int]$Matches[2]
    $octets = foreach ($start in 0, 8, 16, 24) {
        $bits = [Math]::Max(0, [Math]::Min(8, $length - $start))
        256 - [int][Math]::Pow(2, 8 - $bits)
    }
    "$network/$($octets -join '.')"
}

function New-FirewallRule {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Properties)
    Confirm-Simulation -Ability 'New-FirewallRule'
    if ($null -ne (Get-FirewallRule -Name $Name)) { throw "there is a rule $Name already" }
    $rule = @{ displayName = ''; direction = 'Inbound'; action = 'Allow'; protocol = 'Any'; active = $true }
    $rule.icmpType = 'Any'
    $rule.localUser = 'Any'
    foreach ($property in 'localPort', 'remotePort', 'remoteAddress') { $rule[$property] = @('Any') }
    foreach ($property in @($rule.Keys)) {
        if ($Properties.ContainsKey($property)) { $rule[$property] = $Properties[$property] }
    }
    $rule.remoteAddress = @($rule.remoteAddress | ForEach-Object { ConvertTo-Mask -Address $_ })
    $rule.localUser = $rule.localUser.Replace(';S-1-5-18)', ';SY)').Replace(';S-1-1-0)', ';WD)')
    Set-Simulation -Area 'firewall' -Name $Name -Value $rule
}

function Remove-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    if ($null -eq (Get-FirewallRule -Name $Name)) { throw "there is no rule $Name" }
    Set-Simulation -Area 'firewall' -Name $Name -Value $null
}

# Whether a program of an account may ask an address: a rule that blocks does not concern the accounts that its
# filter denies.
function Test-OutboundRequest {
    [CmdletBinding()]
    param([string] $Address, [string] $Port, [string] $Account)
    $letters = $Account.Replace('S-1-5-18', 'SY')
    foreach ($name in Get-SimulationName -Area 'firewall') {
        $rule = Get-Simulation -Area 'firewall' -Name $name
        $isBlock = $rule.direction -eq 'outbound' -and $rule.action -eq 'block'
        $isAddress = @($rule.remoteAddress | Where-Object { $_ -in 'Any', $Address }).Count -gt 0
        $isPort = @($rule.remotePort | Where-Object { $_ -in 'Any', $Port }).Count -gt 0
        $isExcepted = $rule.localUser.Contains("(D;;CC;;;$letters)")
        if ($isBlock -and $isAddress -and $isPort -and -not $isExcepted) { return $false }
    }
    $true
}

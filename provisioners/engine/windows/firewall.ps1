# Rules of the firewall.

function Get-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $rule = Get-Existing -Absence 'CmdletizationQuery_NotFound' -Action {
        Get-NetFirewallRule -Name $Name -ErrorAction Stop
    }
    if ($null -eq $rule) { return $null }
    $ports = Get-NetFirewallPortFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found = @{ displayName = $rule.DisplayName; direction = "$($rule.Direction)"; action = "$($rule.Action)" }
    $found.active = "$($rule.Enabled)" -eq 'True' -and "$($rule.Profile)" -eq 'Any'
    $found += @{ protocol = $ports.Protocol; icmpType = "$($ports.IcmpType)" }
    $found.localPort = @($ports.LocalPort)
    $found.remotePort = @($ports.RemotePort)
    $addresses = Get-NetFirewallAddressFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found.remoteAddress = @($addresses.RemoteAddress)
    $accounts = Get-NetFirewallSecurityFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found.localUser = "$($accounts.LocalUser)"
    $found
}

function New-FirewallRule {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Properties)
    $null = New-NetFirewallRule -Name $Name -Profile Any -Enabled True @Properties -ErrorAction Stop
}

function Remove-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    Remove-NetFirewallRule -Name $Name -ErrorAction Stop
}

# Rules of the firewall.

# Where policies are. In a profile for which one merges no local rules, those of the machine have no effect
# (https://learn.microsoft.com/openspecs/windows_protocols/ms-gpfas/2c979624-900a-4b6e-b4ef-09b387cd62ab).
$script:FirewallPolicy = 'HKLM:\SOFTWARE\Policies\Microsoft\WindowsFirewall'

function Get-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $asked = { Get-NetFirewallRule -Name $Name -ErrorAction Stop }
    $rule = Get-Existing -Absence 'CmdletizationQuery_NotFound' -Action $asked
    if ($null -eq $rule) { return $null }
    $ports = Get-NetFirewallPortFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found = @{ displayName = $rule.DisplayName; direction = "$($rule.Direction)"; action = "$($rule.Action)" }
    $found.active = "$($rule.Enabled)" -eq 'True' -and "$($rule.Profile)" -eq 'Any'
    $found += @{ protocol = $ports.Protocol; icmpType = "$($ports.IcmpType)"; localPort = @($ports.LocalPort) }
    $addresses = Get-NetFirewallAddressFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found += @{ remotePort = @($ports.RemotePort); remoteAddress = @($addresses.RemoteAddress) }
    $accounts = Get-NetFirewallSecurityFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found.localUser = "$($accounts.LocalUser)"
    $found + @{ overruledIn = @('Domain', 'Private', 'Public' | Where-Object {
        $merges = Get-RegistryValue -Key "$script:FirewallPolicy\${_}Profile" -Name 'AllowLocalPolicyMerge'
        $null -ne $merges -and $merges.data -eq 0
    }) }
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

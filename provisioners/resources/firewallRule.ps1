# A rule of the Windows firewall, for all profiles. One that is disabled or for some profiles is not present.
function Get-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [string[]] $localPort, [string[]] $remotePort,
        [string[]] $remoteAddress)
    $rule = Get-FirewallRule -Name $ruleName
    if ($null -eq $rule) { return @{ ensure = 'absent' } }
    $addresses = @($rule.remoteAddress | ForEach-Object { ConvertTo-Prefix -Address $_ })
    $state = @{
        ensure = 'present'
        displayName = $rule.displayName
        direction = $rule.direction.ToLowerInvariant()
        action = $rule.action.ToLowerInvariant()
        protocol = $rule.protocol
        localPort = @(Select-Order -Wanted $localPort -Found $rule.localPort)
        icmpType = $rule.icmpType
        remotePort = @(Select-Order -Wanted $remotePort -Found $rule.remotePort)
        remoteAddress = @(Select-Order -Wanted $remoteAddress -Found $addresses)
    }
    if (-not $rule.active) { $state.ensure = 'disabled or not for all profiles' }
    $state
}

# Windows gives 10.0.0.0/8 back as 10.0.0.0/255.0.0.0.
function ConvertTo-Prefix {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Address)
    if ($Address -notmatch '^(.+)/(\d+\.\d+\.\d+\.\d+)$') { return $Address }
    $network = $Matches[1]
    $bits = foreach ($byte in $Matches[2].Split('.')) { [Convert]::ToString([int]$byte, 2).Replace('0', '') }
    "$network/$((@($bits) -join '').Length)"
}

function Set-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [Parameter(Mandatory)] [string] $ensure,
        [string] $displayName, [string] $direction, [string] $action, [string] $protocol, [string[]] $localPort,
        [string[]] $remotePort, [string[]] $remoteAddress, [int] $icmpType)
    if ($null -ne (Get-FirewallRule -Name $ruleName)) { Remove-FirewallRule -Name $ruleName }
    if ($ensure -eq 'absent') { return }
    $properties = @{ DisplayName = $ruleName }
    foreach ($name in $PSBoundParameters.Keys) {
        if ($name -notin 'ruleName', 'ensure') { $properties[$name] = $PSBoundParameters[$name] }
    }
    New-FirewallRule -Name $ruleName -Properties $properties
}

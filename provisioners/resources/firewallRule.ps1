# A rule of the Windows firewall, for all profiles. One that is disabled or for some profiles is not present.
function Get-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [string[]] $localPort, [string[]] $remotePort,
        [string[]] $remoteAddress, [string[]] $exceptAccount)
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
        exceptAccount = @(Select-Order -Wanted $exceptAccount -Found @(Get-ExceptAccount -Filter $rule.localUser))
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

# Accounts that the filter denies, to which the rule does not apply. Windows may write letters for identifiers.
function Get-ExceptAccount {
    [CmdletBinding()]
    param([AllowEmptyString()] [string] $Filter)
    if ($Filter -in '', 'Any') { return }
    if ($Filter -notmatch '^O:LSD:(\(D;;CC;;;[^)]+\))+\(A;;CC;;;(S-1-1-0|WD)\)$') { return $Filter }
    $letters = @{ SY = 'S-1-5-18'; LS = 'S-1-5-19'; NS = 'S-1-5-20'; BA = 'S-1-5-32-544'; BU = 'S-1-5-32-545' }
    $accounts = [regex]::Matches($Filter, '\(D;;CC;;;([^)]+)\)') | ForEach-Object { $_.Groups[1].Value }
    $accounts | ForEach-Object { if ($letters.ContainsKey($_)) { $letters[$_] } else { $_ } }
}

function Set-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [Parameter(Mandatory)] [string] $ensure,
        [string] $displayName, [string] $direction, [string] $action, [string] $protocol, [string[]] $localPort,
        [string[]] $remotePort, [string[]] $remoteAddress, [string[]] $exceptAccount, [int] $icmpType)
    if ($null -ne (Get-FirewallRule -Name $ruleName)) { Remove-FirewallRule -Name $ruleName }
    if ($ensure -eq 'absent') { return }
    $properties = @{ DisplayName = $ruleName }
    foreach ($name in $PSBoundParameters.Keys) {
        if ($name -notin 'ruleName', 'ensure', 'exceptAccount') { $properties[$name] = $PSBoundParameters[$name] }
    }
    $denied = @($exceptAccount | Where-Object { $_ } | ForEach-Object { "(D;;CC;;;$_)" }) -join ''
    if ($denied) { $properties.localUser = 'O:LSD:' + $denied + '(A;;CC;;;S-1-1-0)' }
    New-FirewallRule -Name $ruleName -Properties $properties
}

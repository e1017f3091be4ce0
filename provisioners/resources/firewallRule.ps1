# A rule of the Windows firewall, for all profiles. One that is disabled or for some profiles is not present. Where
# a policy overrules those of the machine (DISA STIG V-242004, CIS for the profile Public), it may have rules of
# its own for the same ports: that is told once, and no drift.
$script:IsOverruled = $false

function Get-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [string[]] $localPort, [string[]] $remotePort,
        [string[]] $remoteAddress, [string[]] $exceptAccount, [string[]] $exceptUser)
    $rule = Get-FirewallRule -Name $ruleName
    if ($null -eq $rule) { return @{ ensure = 'absent' } }
    $addresses = @($rule.remoteAddress | ForEach-Object { ConvertTo-Prefix -Address $_ })
    $excepted = @(Get-ExceptAccount -Filter $rule.localUser)
    $users = @{}
    foreach ($name in @($exceptUser | Where-Object { $_ })) { $users[$name] = Get-UserId -Name $name }
    $others = @($excepted | Where-Object { $_ -notin $users.Values })
    # What an account leaves behind that is gone: its identifier is given to no other.
    if ('' -in $users.Values) { $others = @($others | Where-Object { $_ -notlike 'S-1-5-21-*' }) }
    $named = @($users.Keys | Where-Object { $users[$_] -in @($excepted) + '' })
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
        exceptAccount = @(Select-Order -Wanted $exceptAccount -Found $others)
        exceptUser = @(Select-Order -Wanted $exceptUser -Found $named)
    }
    if (-not $rule.active) { $state.ensure = 'disabled or not for all profiles' }
    $profiles = @($rule['overruledIn'] | Where-Object { $_ }) -join ', '
    if ($profiles -and -not $script:IsOverruled) {
        $script:IsOverruled = $true
        $why = "a policy (AllowLocalPolicyMerge is 0) keeps them from effect in the profiles $profiles"
        Write-Line -Text "rules of this machine's firewall: ${why}: name their ports in the policy"
    }
    $state
}

function Set-firewallRuleResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ruleName, [Parameter(Mandatory)] [string] $ensure,
        [string] $displayName, [string] $direction, [string] $action, [string] $protocol, [string[]] $localPort,
        [string[]] $remotePort, [string[]] $remoteAddress, [string[]] $exceptAccount, [string[]] $exceptUser,
        [int] $icmpType)
    if ($null -ne (Get-FirewallRule -Name $ruleName)) { Remove-FirewallRule -Name $ruleName }
    if ($ensure -eq 'absent') { return }
    $properties = @{ DisplayName = $ruleName }
    $own = 'ruleName', 'ensure', 'exceptAccount', 'exceptUser'
    foreach ($name in @($PSBoundParameters.Keys | Where-Object { $_ -notin $own })) {
        $properties[$name] = $PSBoundParameters[$name]
    }
    $accounts = @($exceptAccount) + @($exceptUser | Where-Object { $_ } | ForEach-Object { Get-UserId -Name $_ })
    $denied = @($accounts | Where-Object { $_ } | ForEach-Object { "(D;;CC;;;$_)" }) -join ''
    if ($denied) { $properties.localUser = 'O:LSD:' + $denied + '(A;;CC;;;S-1-1-0)' }
    New-FirewallRule -Name $ruleName -Properties $properties
}

# Accounts of steps: the rights that are left to the account of user-data, and its way to the metadata. Loaded by
# run.ps1.

# The rights of a machine as secedit.exe writes them, and what it is told to set.
$script:PlayedRights = @{
    'Get-LocalUser' = {
        [CmdletBinding()]
        param([string] $Name)
        $failure = $script:Rights.failure
        if ($failure) {
            Write-Error -Message "no answer of $Name" -ErrorId $failure
        } elseif ($Name -ne $script:Rights.account) {
            Write-Error -Message "no account $Name" -ErrorId 'UserNotFound'
        } else {
            [pscustomobject]@{ SID = 'S-1-5-21-1-2-3-1001'; Enabled = $true }
        }
    }
    'Invoke-PlayedPolicy' = {
        $line = @($args)
        Set-Variable -Name 'LASTEXITCODE' -Scope Global -Value 0
        $file = $line[[array]::IndexOf($line, '/cfg') + 1]
        if ($line[0] -eq '/export') {
            [IO.File]::WriteAllText($file, $script:Rights.text, [Text.Encoding]::Unicode)
        } else {
            $script:Rights.text = [IO.File]::ReadAllText($file)
        }
    }
}

function Test-LogonRightLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $lines = @('[Privilege Rights]', 'SeDenyNetworkLogonRight = Guest,*S-1-5-113')
    $lines += 'SeServiceLogonRight = cloudbase-init'
    $script:Rights = @{ account = 'cloudbase-init'; failure = ''; text = ($lines -join "`r`n") }
    $step = @{ Step = '950-firstboot'; Name = 'user-data-rights' }
    $step.Call = '"$env:SystemRoot\System32\secedit.exe"'
    $step.Instead = 'Invoke-PlayedPolicy'
    Use-Played -Functions $script:PlayedRights -Block {
        $told = Invoke-StepScript @step -Part 'test'
        $expected = 'SeDenyInteractiveLogonRight SeDenyRemoteInteractiveLogonRight SeDenyNetworkLogonRight'
        Assert-That -Name 'an account that can log on is found' -Holds ($told -eq $expected) -Detail $told
        $null = Invoke-StepScript @step -Part 'set'
        $told = Invoke-StepScript @step -Part 'test'
        Assert-That -Name 'its logons are denied' -Holds ($told -eq 'denied') -Detail $told
        $holds = $script:Rights.text.Contains('SeDenyNetworkLogonRight = Guest,*S-1-5-113,*S-1-5-21-1-2-3-1001')
        Assert-That -Name 'those of others stay denied' -Holds $holds -Detail $script:Rights.text
        $script:Rights.account = 'another'
        $told = Invoke-StepScript @step -Part 'test'
        Assert-That -Name 'an account that is gone has no logon' -Holds ($told -eq 'denied') -Detail $told
        $script:Rights.failure = 'InternalError'
        Assert-Throw -Name 'an account of which nothing is known is not taken for gone' -Block {
            Invoke-StepScript @step -Part 'test'
        }
    }
}

# The abilities of Windows itself, with a Get-LocalUser that finds an account, finds none, or fails.
function Test-UserLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    . "$Provisioners/engine/windows/accounts.ps1"
    $script:Rights = @{ account = 'cloudbase-init'; failure = '' }
    $asked = @(
        { "$(Get-UserState -Name $script:Rights.name)" }
        { "$(Get-UserId -Name $script:Rights.name)" }
        { "$(Test-BuiltInAdministrator -Name $script:Rights.name)" }
    )
    $rows = @(@('cloudbase-init', 'present S-1-5-21-1-2-3-1001 False'), @('none', 'absent  False'))
    Use-Played -Functions $script:PlayedRights -Block {
        foreach ($row in $rows) {
            $script:Rights.name = $row[0]
            $told = @($asked | ForEach-Object { & $_ }) -join ' '
            Assert-That -Name "the account $($row[0]) is asked for" -Holds ($told -eq $row[1]) -Detail $told
        }
        $script:Rights.failure = 'InternalError'
        foreach ($block in $asked) {
            Assert-Throw -Name "a failure is no absent account: $block" -Block $block
        }
    }
}

# The account of user-data asks the platform on a clone, where it has another identifier than on the build machine.
function Test-MetadataLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    Set-Simulation -Area 'users' -Name 'cloudbase-init' -Value 'present'
    Set-Simulation -Area 'users' -Name 'packer' -Value 'present'
    . "$Provisioners/resources/firewallRule.ps1"
    $rule = @{ ruleName = 'wire'; ensure = 'present'; displayName = 'wire' }
    $rule += @{ direction = 'outbound'; action = 'block' }
    $rule += @{ protocol = 'TCP'; remotePort = @('80'); remoteAddress = @('192.0.2.1') }
    $rule += @{ exceptAccount = @('S-1-5-18'); exceptUser = @('cloudbase-init') }
    $asked = @{ ruleName = 'wire' }
    foreach ($name in 'remotePort', 'remoteAddress', 'exceptAccount', 'exceptUser') {
        $asked[$name] = $rule[$name]
    }
    $request = @{ Address = '192.0.2.1'; Port = '80' }
    Set-firewallRuleResource @rule
    $holds = Test-OutboundRequest @request -Account (Get-UserId -Name 'cloudbase-init')
    Assert-That -Name 'an account that a rule excepts passes it' -Holds $holds
    $holds = -not (Test-OutboundRequest @request -Account (Get-UserId -Name 'packer'))
    Assert-That -Name 'a rule blocks an address by account' -Holds $holds
    Complete-Sealing -ImageState 'sealed'
    $holds = -not (Test-OutboundRequest @request -Account (Get-UserId -Name 'cloudbase-init'))
    Assert-That -Name 'Sysprep changes the identifiers of accounts' -Holds $holds
    $found = Get-firewallRuleResource @asked
    $holds = @($found.exceptUser).Count -eq 0 -and @($found.exceptAccount).Count -eq 2
    Assert-That -Name 'a rule with an identifier of the build machine is a drift' -Holds $holds -Detail $found
    Set-firewallRuleResource @rule
    foreach ($account in 'S-1-5-18', (Get-UserId -Name 'cloudbase-init')) {
        $holds = Test-OutboundRequest @request -Account $account
        Assert-That -Name "on a clone $account passes the rule" -Holds $holds
    }
    foreach ($kind in 'there', 'gone') {
        if ($kind -eq 'gone') { Set-Simulation -Area 'users' -Name 'cloudbase-init' -Value $null }
        $found = Get-firewallRuleResource @asked
        $told = "$($found.exceptAccount) $($found.exceptUser)"
        $holds = $told -eq 'S-1-5-18 cloudbase-init'
        Assert-That -Name "a rule is as planned while its account is $kind" -Holds $holds -Detail $told
    }
}

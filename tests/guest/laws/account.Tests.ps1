# Accounts of steps: the rights that are left to the account of user-data, and its way to the metadata.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

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
}

Describe 'LogonRightLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $lines = @('[Privilege Rights]', 'SeDenyNetworkLogonRight = Guest,*S-1-5-113')
        $lines += 'SeServiceLogonRight = cloudbase-init'
        $script:Rights = @{ account = 'cloudbase-init'; failure = ''; text = ($lines -join "`r`n") }
        $step = @{ Step = '950-firstboot'; Name = 'user-data-rights' }
        $step.Call = '"$env:SystemRoot\System32\secedit.exe"'
        $step.Instead = 'Invoke-PlayedPolicy'
    }

    Context 'with the policy of the machine' {
        BeforeAll {
            Add-Played -Functions $script:PlayedRights
            $told = Invoke-StepScript @step -Part 'test'
            $expected = 'SeDenyInteractiveLogonRight SeDenyRemoteInteractiveLogonRight SeDenyNetworkLogonRight'
        }

        AfterAll {
            Remove-Played -Functions $script:PlayedRights
        }

        It 'an account that can log on is found' {
            $told | Should -Be $expected
        }

        It 'its logons are denied' {
            $null = Invoke-StepScript @step -Part 'set'
            $told = Invoke-StepScript @step -Part 'test'
            $told | Should -Be 'denied'
        }

        It 'those of others stay denied' {
            $wanted = 'SeDenyNetworkLogonRight = Guest,*S-1-5-113,*S-1-5-21-1-2-3-1001'
        $script:Rights.text.Contains($wanted) | Should -BeTrue -Because $script:Rights.text
        }

        It 'an account that is gone has no logon' {
            $script:Rights.account = 'another'
            $told = Invoke-StepScript @step -Part 'test'
            $told | Should -Be 'denied'
        }

        It 'an account of which nothing is known is not taken for gone' {
            $script:Rights.failure = 'InternalError'
            { Invoke-StepScript @step -Part 'test' } | Should -Throw
        }
    }
}

# The abilities of Windows itself, with a Get-LocalUser that finds an account, finds none, or fails.
Describe 'UserLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        . "$Provisioners/engine/windows/accounts.ps1"
        $script:Rights = @{ account = 'cloudbase-init'; failure = '' }
        $asked = @(
            { "$(Get-UserState -Name $script:Rights.name)" }
            { "$(Get-UserId -Name $script:Rights.name)" }
            { "$(Test-BuiltInAdministrator -Name $script:Rights.name)" }
        )
    }

    Context 'with accounts of the machine' {
        BeforeAll {
            Add-Played -Functions $script:PlayedRights
        }

        AfterAll {
            Remove-Played -Functions $script:PlayedRights
        }

        It 'the account <name> is asked for' -ForEach @(
            @{ name = 'cloudbase-init'; state = 'present S-1-5-21-1-2-3-1001 False' }
            @{ name = 'none'; state = 'absent  False' }
        ) {
            $script:Rights.name = $name
            @($asked | ForEach-Object { & $_ }) -join ' ' | Should -Be $state
        }

        It 'a failure is no absent account: <what>' -ForEach @(
            @{ what = 'its state'; number = 0 }
            @{ what = 'its identifier'; number = 1 }
            @{ what = 'its rank'; number = 2 }
        ) {
            $script:Rights.failure = 'InternalError'
            $asked[$number] | Should -Throw
        }
    }
}

# The account of user-data asks the platform on a clone, where it has another identifier than on the build machine.
Describe 'MetadataLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
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
        $script:holds = Test-OutboundRequest @request -Account (Get-UserId -Name 'cloudbase-init')
    }

    It 'an account that a rule excepts passes it' {
        $holds | Should -BeTrue
    }

    It 'a rule blocks an address by account' {
        (Test-OutboundRequest @request -Account (Get-UserId -Name 'packer')) | Should -BeFalse
    }

    It 'Sysprep changes the identifiers of accounts' {
        Complete-Sealing -ImageState 'sealed'
        (Test-OutboundRequest @request -Account (Get-UserId -Name 'cloudbase-init')) | Should -BeFalse
    }

    It 'a rule with an identifier of the build machine is a drift' {
        $found = Get-firewallRuleResource @asked
        @($found.exceptUser).Count | Should -Be 0 -Because $found
        @($found.exceptAccount).Count | Should -Be 2 -Because $found
    }

    It 'on a clone SYSTEM passes the rule, and an account that it excepts' {
        Set-firewallRuleResource @rule
        foreach ($account in 'S-1-5-18', (Get-UserId -Name 'cloudbase-init')) {
            Test-OutboundRequest @request -Account $account | Should -BeTrue -Because $account
        }
    }

    Context '<kind>' -ForEach @(@{ kind = 'there' }, @{ kind = 'gone' }) {
        BeforeAll {
            if ($kind -eq 'gone') { Set-Simulation -Area 'users' -Name 'cloudbase-init' -Value $null }
            $found = Get-firewallRuleResource @asked
            $told = "$($found.exceptAccount) $($found.exceptUser)"
        }

        It 'a rule is as planned while its account is <kind>' {
            $told | Should -Be 'S-1-5-18 cloudbase-init'
        }
    }
}

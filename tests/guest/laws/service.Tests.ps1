# The simulated service manager obeys what laws.json says of services.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'ServiceManager' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        New-LawService -Name 'new'
        $found = Get-ServiceConfig -Name 'new'
    }

    It 'a service that never started has the exit code 1077' {
        $found.exitCode | Should -Be 1077 -Because $found
    }

    It 'a change of a service leaves the rest' {
        Set-ServiceConfig -Name 'new' -Change @{ displayName = 'other' }
        $found = Get-ServiceConfig -Name 'new'
        $found.commandLine | Should -BeExactly 'C:\new.exe' -Because $found
        $found.startType | Should -Be 'manual' -Because $found
    }

    It 'the stop of a stopped service is no error' {
        $said = Get-Refusal -Block { Request-ServiceState -Name 'new' -State 'stopped' }
        $said | Should -Be ''
    }

    It 'the start of a service that runs is no error' {
        Request-ServiceState -Name 'new' -State 'running'
        $said = Get-Refusal -Block { Request-ServiceState -Name 'new' -State 'running' }
        $said | Should -Be ''
    }

    It 'a start type that is auto has no mark of a delay' {
        foreach ($type in 'delayed', 'auto') { Set-ServiceStart -Name 'new' -StartType $type }
        $found = Get-ServiceConfig -Name 'new'
        $found.startType | Should -Be 'auto' -Because $found
    }

    It 'a deleted service that runs is seen until it stops' {
        Remove-ServiceEntry -Name 'new'
        $taken = Get-Refusal -Block { New-LawService -Name 'new' }
        $there = $null -ne (Get-ServiceConfig -Name 'new')
        Request-ServiceState -Name 'new' -State 'stopped'
        $gone = $null -eq (Get-ServiceConfig -Name 'new')
        $holds = $taken -ne '' -and $there -and $gone
        $told = "taken: $taken, there: $there, gone: $gone"
        $holds | Should -BeTrue -Because $told
    }
}

Describe 'PendingService' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        New-LawService -Name 'slow' -Change @{ slow = 2 }
        Request-ServiceState -Name 'slow' -State 'running'
        $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'stopped' }
    }

    It 'a service that is pending is not stopped: 1061' {
        $said.Contains('1061') | Should -BeTrue -Because $said
    }

    It 'the start of a service that is pending changes nothing' {
        $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'running' }
        $raw = Get-Simulation -Area 'services' -Name 'slow'
        $said | Should -Be ''
        $raw.state | Should -Be 'start pending' -Because $said
        $raw.left | Should -Be 2 -Because $said
    }

    It 'a service that is slow is pending for a while' {
        $states = @(foreach ($read in 1, 2, 3) {
            $found = Get-ServiceConfig -Name 'slow'
            $found.state
        }) -join ', '
        $states | Should -Be 'start pending, start pending, running'
    }

    It 'the stop of a service fails where one that depends on it hangs' {
        New-LawService -Name 'needing' -Change @{ dependsOn = @('slow'); displayName = 'hangs'; state = 'running' }
        $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'stopped' }
        $said.Contains('Time out') | Should -BeTrue -Because $said
    }
}

# What the service manager refuses, by its codes.
Describe 'RefusedStart' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        New-LawService -Name 'empty'
        $value = @{ Key = (Get-ServiceKey -Name 'empty'); Name = 'Environment' }
        Set-RegistryValue @value -Kind 'MultiString' -Data @()
        $said = Get-Refusal -Block { Request-ServiceState -Name 'empty' -State 'running' }
        Remove-RegistryValue @value
        $after = Get-Refusal -Block { Request-ServiceState -Name 'empty' -State 'running' }
        $holds = $said.Contains('87') -and $after -eq ''
        $detail = "$said, and without the value: $after"
    }

    It 'a service with an empty Environment does not start: 87' {
        $holds | Should -BeTrue -Because $detail
    }

    It 'a start that is refused has its code' {
        New-LawService -Name 'disabled' -Change @{ startType = 'disabled' }
        New-LawService -Name 'late' -Change @{ startFails = 1053 }
        New-LawService -Name 'foreign' -Change @{ startFails = 1069 }
        $wanted = @{ disabled = 1058; late = 1053; foreign = 1069 }
        $odd = @(foreach ($name in $wanted.Keys) {
            $said = Get-Refusal -Block { Request-ServiceState -Name $name -State 'running' }
            if (-not $said.Contains("$($wanted[$name])")) { "${name}: $said" }
        })
        $odd.Count | Should -Be 0 -Because ($odd -join ', ')
    }

    It 'a service whose dependency does not start is refused: 1068' {
        New-LawService -Name 'needing' -Change @{ dependsOn = @('late') }
        $said = Get-Refusal -Block { Request-ServiceState -Name 'needing' -State 'running' }
        $said.Contains('1068') | Should -BeTrue -Because $said
    }
}

# What recovery actions are left with, and which of them comes.
Describe 'RecoveryAction' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        New-LawService -Name 'failing'
        $value = @{ Key = (Get-ServiceKey -Name 'failing'); Name = 'FailureActions' }
        Set-ServiceFailure -Name 'failing' -ResetSeconds 900
        $binary = Get-RegistryValue @value
        $found = ConvertFrom-FailureAction -Hex $binary.data
    }

    It 'no recovery actions have no reset period' {
        $found.resetSeconds | Should -Be 0
        @($found.actions).Count | Should -Be 0 -Because $found.resetSeconds
    }

    It 'a failure past the list repeats the last action' {
        $actions = @(@{ action = 'none'; delaySeconds = 0 }, @{ action = 'restart'; delaySeconds = 60 })
        Set-ServiceFailure -Name 'failing' -ResetSeconds 900 -Actions $actions
        Set-ServiceConfig -Name 'failing' -Change @{ stopsWithError = $true }
        $due = @(foreach ($turn in 1, 2, 3) {
            foreach ($state in 'running', 'stopped') { Request-ServiceState -Name 'failing' -State $state }
            $null -ne (Get-Simulation -Area 'recoveries' -Name 'failing')
        }) -join ' '
        $due | Should -Be 'False True True'
    }
}

# The simulated service manager obeys what laws.json says of services. Loaded by run.ps1.

# A service of a simulated machine that is there for one case.
function New-LawService {
    param([string] $Name, [hashtable] $Change = @{})
    New-ServiceEntry -Name $Name -CommandLine "C:\$Name.exe"
    if ($Change.Count -gt 0) { Set-ServiceConfig -Name $Name -Change $Change }
}

# What a block throws, nothing where it does not.
function Get-Refusal {
    param([scriptblock] $Block)
    try { $null = & $Block } catch { return "$($_.Exception.Message)" }
    ''
}

function Test-ServiceManager {
    param([string] $Source)
    $null = New-World -Source $Source
    New-LawService -Name 'new'
    $found = Get-ServiceConfig -Name 'new'
    $holds = $found.exitCode -eq 1077
    Assert-That -Name 'a service that never started has the exit code 1077' -Holds $holds -Detail $found
    Set-ServiceConfig -Name 'new' -Change @{ displayName = 'other' }
    $found = Get-ServiceConfig -Name 'new'
    $holds = $found.commandLine -ceq 'C:\new.exe' -and $found.startType -eq 'manual'
    Assert-That -Name 'a change of a service leaves the rest' -Holds $holds -Detail $found
    $said = Get-Refusal -Block { Request-ServiceState -Name 'new' -State 'stopped' }
    Assert-That -Name 'the stop of a stopped service is no error' -Holds ($said -eq '') -Detail $said
    Request-ServiceState -Name 'new' -State 'running'
    $said = Get-Refusal -Block { Request-ServiceState -Name 'new' -State 'running' }
    Assert-That -Name 'the start of a service that runs is no error' -Holds ($said -eq '') -Detail $said
    foreach ($type in 'delayed', 'auto') { Set-ServiceStart -Name 'new' -StartType $type }
    $found = Get-ServiceConfig -Name 'new'
    $holds = $found.startType -eq 'auto'
    Assert-That -Name 'a start type that is auto has no mark of a delay' -Holds $holds -Detail $found

    Remove-ServiceEntry -Name 'new'
    $taken = Get-Refusal -Block { New-LawService -Name 'new' }
    $there = $null -ne (Get-ServiceConfig -Name 'new')
    Request-ServiceState -Name 'new' -State 'stopped'
    $gone = $null -eq (Get-ServiceConfig -Name 'new')
    $holds = $taken -ne '' -and $there -and $gone
    $told = "taken: $taken, there: $there, gone: $gone"
    Assert-That -Name 'a deleted service that runs is seen until it stops' -Holds $holds -Detail $told
}

function Test-PendingService {
    param([string] $Source)
    $null = New-World -Source $Source
    New-LawService -Name 'slow' -Change @{ slow = 2 }
    Request-ServiceState -Name 'slow' -State 'running'
    $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'stopped' }
    $holds = $said.Contains('1061')
    Assert-That -Name 'a service that is pending is not stopped: 1061' -Holds $holds -Detail $said
    $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'running' }
    $raw = Get-Simulation -Area 'services' -Name 'slow'
    $holds = $said -eq '' -and $raw.state -eq 'start pending' -and $raw.left -eq 2
    Assert-That -Name 'the start of a service that is pending changes nothing' -Holds $holds -Detail $said
    $states = @(foreach ($read in 1, 2, 3) {
        $found = Get-ServiceConfig -Name 'slow'
        $found.state
    }) -join ', '
    $holds = $states -eq 'start pending, start pending, running'
    Assert-That -Name 'a service that is slow is pending for a while' -Holds $holds -Detail $states
    New-LawService -Name 'needing' -Change @{ dependsOn = @('slow'); displayName = 'hangs'; state = 'running' }
    $said = Get-Refusal -Block { Request-ServiceState -Name 'slow' -State 'stopped' }
    $holds = $said.Contains('Time out')
    Assert-That -Name 'the stop of a service fails where one that depends on it hangs' -Holds $holds -Detail $said
}

# What the service manager refuses, by its codes.
function Test-RefusedStart {
    param([string] $Source)
    $null = New-World -Source $Source
    New-LawService -Name 'empty'
    $value = @{ Key = (Get-ServiceKey -Name 'empty'); Name = 'Environment' }
    Set-RegistryValue @value -Kind 'MultiString' -Data @()
    $said = Get-Refusal -Block { Request-ServiceState -Name 'empty' -State 'running' }
    Remove-RegistryValue @value
    $after = Get-Refusal -Block { Request-ServiceState -Name 'empty' -State 'running' }
    $holds = $said.Contains('87') -and $after -eq ''
    $detail = "$said, and without the value: $after"
    Assert-That -Name 'a service with an empty Environment does not start: 87' -Holds $holds -Detail $detail

    New-LawService -Name 'disabled' -Change @{ startType = 'disabled' }
    New-LawService -Name 'late' -Change @{ startFails = 1053 }
    New-LawService -Name 'foreign' -Change @{ startFails = 1069 }
    $wanted = @{ disabled = 1058; late = 1053; foreign = 1069 }
    $odd = @(foreach ($name in $wanted.Keys) {
        $said = Get-Refusal -Block { Request-ServiceState -Name $name -State 'running' }
        if (-not $said.Contains("$($wanted[$name])")) { "${name}: $said" }
    })
    Assert-That -Name 'a start that is refused has its code' -Holds ($odd.Count -eq 0) -Detail ($odd -join ', ')
    New-LawService -Name 'needing' -Change @{ dependsOn = @('late') }
    $said = Get-Refusal -Block { Request-ServiceState -Name 'needing' -State 'running' }
    $holds = $said.Contains('1068')
    Assert-That -Name 'a service whose dependency does not start is refused: 1068' -Holds $holds -Detail $said
}

# What recovery actions are left with, and which of them comes.
function Test-RecoveryAction {
    param([string] $Source)
    $null = New-World -Source $Source
    New-LawService -Name 'failing'
    $value = @{ Key = (Get-ServiceKey -Name 'failing'); Name = 'FailureActions' }
    Set-ServiceFailure -Name 'failing' -ResetSeconds 900
    $binary = Get-RegistryValue @value
    $found = ConvertFrom-FailureAction -Hex $binary.data
    $holds = $found.resetSeconds -eq 0 -and @($found.actions).Count -eq 0
    Assert-That -Name 'no recovery actions have no reset period' -Holds $holds -Detail $found.resetSeconds

    $actions = @(@{ action = 'none'; delaySeconds = 0 }, @{ action = 'restart'; delaySeconds = 60 })
    Set-ServiceFailure -Name 'failing' -ResetSeconds 900 -Actions $actions
    Set-ServiceConfig -Name 'failing' -Change @{ stopsWithError = $true }
    $due = @(foreach ($turn in 1, 2, 3) {
        foreach ($state in 'running', 'stopped') { Request-ServiceState -Name 'failing' -State $state }
        $null -ne (Get-Simulation -Area 'recoveries' -Name 'failing')
    }) -join ' '
    $holds = $due -eq 'False True True'
    Assert-That -Name 'a failure past the list repeats the last action' -Holds $holds -Detail $due
}

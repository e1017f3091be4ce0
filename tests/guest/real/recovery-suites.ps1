# Recovery actions of services, with the program of service-suites.ps1. Loaded by real.ps1.

# How often a service of a way was started within some seconds, with one restart after the other.
function Measure-Start {
    param([string] $Way, [bool] $Flag)
    $name = "imagegen-real-$Way"
    $path = New-TestService -Name $name -Way $Way
    try {
        Set-ServiceFailure -Name $name -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 1 })
        Set-ServiceFailureFlag -Name $name -Flag $Flag
        Request-ServiceState -Name $name -State 'running'
        $null = Wait-Until -Seconds 12 -Block { @(Read-ServiceLine -Path $path).Count -ge 3 }
        @(Read-ServiceLine -Path $path).Count
    } finally {
        Set-ServiceStart -Name $name -StartType 'disabled'
        Remove-TestService -Name $name
    }
}

function Test-ServiceRecovery {
    $starts = Measure-Start -Way 'crashes' -Flag $false
    Confirm-Law -Law 'service.last-action-repeats' -Holds ($starts -ge 3) -Detail "$starts starts"
    $starts = Measure-Start -Way 'fails' -Flag $true
    foreach ($law in 'service.failure-flag', 'service.kubelet-stops-with-error') {
        Confirm-Law -Law $law -Holds ($starts -ge 2) -Detail "$starts starts with the flag"
    }
    $starts = Measure-Start -Way 'fails' -Flag $false
    Confirm-Law -Law 'service.failure-flag' -Holds ($starts -eq 1) -Detail "$starts starts without the flag"

    $name = 'imagegen-real-recovery'
    $null = New-TestService -Name $name -Way 'run'
    $value = @{ Key = (Get-ServiceKey -Name $name); Name = 'FailureActions' }
    try {
        Set-ServiceFailure -Name $name -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
        $binary = Get-RegistryValue @value
        $found = ConvertFrom-FailureAction -Hex $binary.data
        $told = "$($found.resetSeconds) $($found.actions[0].action) $($found.actions[0].delaySeconds)"
        Confirm-Law -Law 'service.recovery-bytes' -Holds ($told -eq '900 restart 60') -Detail $told
        Set-ServiceFailure -Name $name -ResetSeconds 900
        $binary = Get-RegistryValue @value
        $found = @{ resetSeconds = 0; actions = @() }
        if ($null -ne $binary) { $found = ConvertFrom-FailureAction -Hex $binary.data }
        $holds = $found.resetSeconds -eq 0 -and @($found.actions).Count -eq 0
        Confirm-Law -Law 'service.no-actions-no-period' -Holds $holds -Detail $found.resetSeconds
    } finally {
        Remove-TestService -Name $name
    }
}

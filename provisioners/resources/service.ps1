# A Windows service. Without `commandLine` it tunes one that is there already.
function Get-serviceResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $serviceName, [string[]] $dependsOn)
    $service = Get-ServiceConfig -Name $serviceName
    if ($null -eq $service) { return @{ ensure = 'absent' } }
    $state = @{ ensure = 'present'; failureResetSeconds = 0; failureActions = @(); failureFlag = $false }
    foreach ($name in 'displayName', 'commandLine', 'startType', 'state') { $state[$name] = $service[$name] }
    $state.dependsOn = @(Select-Order -Wanted $dependsOn -Found $service.dependsOn)
    $key = Get-ServiceKey -Name $serviceName
    $binary = Get-RegistryValue -Key $key -Name 'FailureActions'
    if ($null -ne $binary) {
        $failure = ConvertFrom-FailureAction -Hex $binary.data
        $state.failureResetSeconds = $failure.resetSeconds
        $state.failureActions = $failure.actions
    }
    $flag = Get-RegistryValue -Key $key -Name 'FailureActionsOnNonCrashFailures'
    if ($null -ne $flag) { $state.failureFlag = $flag.data -ne 0 }
    $state.environment = @(Get-ServiceEnvironment -Name $serviceName)
    $state
}

function Set-serviceResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $serviceName, [Parameter(Mandatory)] [string] $ensure,
        [string] $displayName, [string] $commandLine, [string] $startType, [string[]] $dependsOn,
        [long] $failureResetSeconds, [object[]] $failureActions, [bool] $failureFlag, [string[]] $environment,
        [string] $state)
    if ($ensure -eq 'absent') {
        Wait-ServiceState -Name $serviceName -State 'stopped'
        Remove-ServiceEntry -Name $serviceName
        return
    }
    if ($null -eq (Get-ServiceConfig -Name $serviceName)) {
        if (-not $commandLine) { throw "there is no service $serviceName to tune" }
        New-ServiceEntry -Name $serviceName -CommandLine $commandLine
    }
    $change = @{}
    foreach ($name in 'displayName', 'commandLine', 'dependsOn') {
        if ($PSBoundParameters.ContainsKey($name)) { $change[$name] = $PSBoundParameters[$name] }
    }
    if ($change.Count -gt 0) { Set-ServiceConfig -Name $serviceName -Change $change }
    if ($startType) { Set-ServiceStart -Name $serviceName -StartType $startType }
    if ($failureResetSeconds -gt 0 -and $failureActions.Count -eq 0) {
        throw 'failureResetSeconds needs failureActions: the service manager takes them together'
    }
    if ($PSBoundParameters.ContainsKey('failureActions')) {
        $failure = @{ Name = $serviceName; ResetSeconds = $failureResetSeconds; Actions = $failureActions }
        Set-ServiceFailure @failure
    }
    if ($PSBoundParameters.ContainsKey('failureFlag')) {
        Set-ServiceFailureFlag -Name $serviceName -Flag $failureFlag
    }
    if ($PSBoundParameters.ContainsKey('environment')) {
        Set-ServiceEnvironment -Name $serviceName -Variables $environment
    }
    if ($state) { Wait-ServiceState -Name $serviceName -State $state }
}

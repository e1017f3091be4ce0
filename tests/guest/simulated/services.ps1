# Services, through the service manager.

function Get-ServiceKey {
    [CmdletBinding()]
    param([string] $Name)
    "HKLM:\SYSTEM\CurrentControlSet\Services\$Name"
}

function Get-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name)
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config -or $null -eq $config['left']) { return $config }
    $change = @{ left = $config['left'] - 1 }
    if ($change.left -le 0) {
        $change = @{ left = $null; state = $config['next']; exitCode = 0 }
        if ($config['deleted'] -and $config['next'] -eq 'stopped') {
            Set-Simulation -Area 'services' -Name $Name -Value $null
            return $config
        }
    }
    Set-ServiceConfig -Name $Name -Change $change
    $config
}

function New-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name, [string] $CommandLine)
    Confirm-Simulation -Ability 'New-ServiceEntry'
    if ($null -ne (Get-ServiceConfig -Name $Name)) { throw "there is a service $Name already" }
    $config = @{ startType = 'manual'; dependsOn = @(); displayName = $Name; state = 'stopped'; exitCode = 1077 }
    $config.commandLine = $CommandLine
    Set-Simulation -Area 'services' -Name $Name -Value $config
}

function Set-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Change)
    Confirm-Simulation -Ability 'Set-ServiceConfig'
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config) { throw "there is no service $Name" }
    foreach ($property in $Change.Keys) { $config[$property] = $Change[$property] }
    Set-Simulation -Area 'services' -Name $Name -Value $config
}

function Set-ServiceStart {
    [CmdletBinding()]
    param([string] $Name, [string] $StartType)
    Confirm-Simulation -Ability 'Set-ServiceStart'
    Set-ServiceConfig -Name $Name -Change @{ startType = $StartType }
}

# Writes the registry's own form, which is what the engine reads back.
function Set-ServiceFailure {
    [CmdletBinding()]
    param([string] $Name, [long] $ResetSeconds, [object[]] $Actions = @())
    Confirm-Simulation -Ability 'Set-ServiceFailure'
    # The service manager keeps no period without actions.
    if ($Actions.Count -eq 0) { $ResetSeconds = 0 }
    $kinds = @{ none = 0; restart = 1; reboot = 2 }
    $words = @([uint32]$ResetSeconds, 0, 0, $Actions.Count, 20)
    foreach ($action in $Actions) { $words += @($kinds[$action.action], (1000 * $action.delaySeconds)) }
    $bytes = foreach ($word in $words) { [BitConverter]::GetBytes([uint32]$word) }
    $hex = [BitConverter]::ToString([byte[]]@($bytes)).Replace('-', '').ToLowerInvariant()
    Set-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActions' -Kind 'Binary' -Data $hex
}

function Set-ServiceFailureFlag {
    [CmdletBinding()]
    param([string] $Name, [bool] $Flag)
    Confirm-Simulation -Ability 'Set-ServiceFailureFlag'
    $value = @{ Kind = 'DWord'; Data = [int]$Flag }
    Set-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActionsOnNonCrashFailures' @value
}

# A service with the display name `hangs` stays pending, and one named `dies` ends while it starts; one that is
# disabled does not start, nor one with an empty list of variables. One that is pending takes no request to stop,
# and one with `slow` N is pending for N questions. The end of one with `stopsWithError` is a failure for its
# recovery actions.
function Request-ServiceState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    Confirm-Simulation -Ability 'Request-ServiceState'
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config) { throw "there is no service $Name" }
    if ($config.state -eq $State) { return }
    $isPending = $config.state.EndsWith('pending')
    if ($isPending -and $State -eq 'running') { return }
    if ($isPending) { throw "$Name cannot accept control messages at this time (1061)" }
    Request-Neighbour -Name $Name -State $State
    if ($State -eq 'running') { Confirm-Startable -Name $Name -Config $config }
    $pending = @{ running = 'start pending'; stopped = 'stop pending' }[$State]
    $end = @{ hangs = $pending; dies = 'stopped' }[$config.displayName]
    if (-not $end) { $end = $State }
    if ([int]$config['slow'] -gt 0) {
        Set-ServiceConfig -Name $Name -Change @{ state = $pending; left = $config['slow']; next = $end }
        return
    }
    if ($end -eq 'stopped' -and $config['deleted']) {
        return Set-Simulation -Area 'services' -Name $Name -Value $null
    }
    Set-ServiceConfig -Name $Name -Change @{ state = $end; exitCode = 0 }
    if ($end -eq 'running') { Set-Simulation -Area 'recoveries' -Name $Name -Value $null }
    if ($end -ne 'stopped' -or -not $config['stopsWithError']) { return }
    $binary = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActions'
    if ($null -eq $binary) { return }
    $failure = ConvertFrom-FailureAction -Hex $binary.data
    $actions = @($failure.actions | ForEach-Object { $_.action })
    if ($actions.Count -eq 0) { return }
    # The action of the failure's number, past the end of the list the last one.
    $number = 1 + [int]$config['failures']
    Set-ServiceConfig -Name $Name -Change @{ failures = $number }
    $action = $actions[[Math]::Min($number, $actions.Count) - 1]
    if ($action -eq 'restart') { Set-Simulation -Area 'recoveries' -Name $Name -Value 'due' }
}

# What the service manager refuses to start: 1058 and 87 of sc.exe, and the code `startFails` of a service.
function Confirm-Startable {
    [CmdletBinding()]
    param([string] $Name, $Config)
    if ($Config.startType -eq 'disabled') { throw "$Name is disabled (1058)" }
    if ($null -ne $Config['startFails']) { throw "sc.exe exited with $($Config['startFails']) for $Name" }
    $environment = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'Environment'
    if ($null -eq $environment) { return }
    if (@($environment.data | Where-Object { $_ }).Count -eq 0) { throw 'The parameter is incorrect (87)' }
}

function Get-ServiceDependent {
    [CmdletBinding()]
    param([string] $Name)
    foreach ($other in Get-SimulationName -Area 'services') {
        $config = Get-Simulation -Area 'services' -Name $other
        if (@($config['dependsOn']) -contains $Name -and $config['state'] -ne 'stopped') { $other }
    }
}

# A service is started after those that it depends on, and not without them: 1068. Those that depend on it are
# stopped first, and waited for 30 s each, which one that stays pending outlasts.
function Request-Neighbour {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    $config = Get-Simulation -Area 'services' -Name $Name
    $own = @($config['dependsOn'])
    foreach ($other in Get-SimulationName -Area 'services') {
        $config = Get-Simulation -Area 'services' -Name $other
        $needed = $State -eq 'running' -and $own -contains $other
        $needing = $State -eq 'stopped' -and @($config['dependsOn']) -contains $Name
        if ($needed) { Start-Dependency -Name $other }
        if ($needing) { Request-ServiceState -Name $other -State $State }
        $after = Get-ServiceConfig -Name $other
        if ($needing -and $after.state -ne 'stopped') { throw 'Time out has expired' }
    }
}

function Start-Dependency {
    [CmdletBinding()]
    param([string] $Name)
    try {
        Request-ServiceState -Name $Name -State 'running'
    } catch {
        throw "the dependency service or group failed to start (1068): $($_.Exception.Message)"
    }
}

function Remove-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Remove-ServiceEntry'
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config) { throw "there is no service $Name" }
    if ($config['deleted']) { throw "$Name has been marked for deletion (1072)" }
    if ($config.state -eq 'stopped') {
        Set-Simulation -Area 'services' -Name $Name -Value $null
    } else {
        # It is there until it stops.
        Set-ServiceConfig -Name $Name -Change @{ deleted = $true }
    }
}

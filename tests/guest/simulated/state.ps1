# The state of the simulated machine, and what happens on it by itself.

function Get-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name)
    $path = "$env:IMAGEGEN_SIMULATION/state.json"
    if (-not [IO.File]::Exists($path)) { return $null }
    $state = [IO.File]::ReadAllText($path) | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey($Area)) { return $null }
    $value = $state[$Area][$Name.ToLowerInvariant()]
    if ($value -is [array]) { return , $value }
    $value
}

# $null takes the name away.
function Set-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name, $Value)
    $path = "$env:IMAGEGEN_SIMULATION/state.json"
    $state = @{}
    if ([IO.File]::Exists($path)) { $state = [IO.File]::ReadAllText($path) | ConvertFrom-Json -AsHashtable }
    if (-not $state.ContainsKey($Area)) { $state[$Area] = @{} }
    $key = $Name.ToLowerInvariant()
    if ($null -eq $Value) {
        $state[$Area].Remove($key)
    } else {
        $state[$Area][$key] = $Value
    }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $state -Depth 8))
}

# Every name of an area.
function Clear-Simulation {
    [CmdletBinding()]
    param([string] $Area)
    $path = "$env:IMAGEGEN_SIMULATION/state.json"
    $state = [IO.File]::ReadAllText($path) | ConvertFrom-Json -AsHashtable
    $null = $state.Remove($Area)
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $state -Depth 8))
}

# Abilities that change something stop here when a test has them fail, each time or `once`.
function Confirm-Simulation {
    [CmdletBinding()]
    param([string] $Ability)
    $way = Get-Simulation -Area 'fails' -Name $Ability
    if ($null -eq $way) { return }
    if ($way -eq 'once') { Set-Simulation -Area 'fails' -Name $Ability -Value $null }
    throw "simulated failure of $Ability"
}

# What Task Scheduler starts at a moment: `startup` with Windows, `minute` and `day` after that. Nothing is started
# beside itself, and an exit code is no reason to start anything again.
function Step-Simulation {
    [CmdletBinding()]
    param([string] $Moment)
    if ($Moment -eq 'startup') { Complete-InstanceSetup }
    if ($Moment -eq 'minute') {
        Complete-AgentWork
        Resume-Simulation
    }
    if ($Moment -eq 'day') { Install-OwnUpdate }
    $trigger = @{ startup = 'startup'; minute = 'minutely'; day = 'daily' }[$Moment]
    $state = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey('tasks')) { return }
    foreach ($name in @($state.tasks.Keys)) {
        $task = $state.tasks[$name]
        if (-not $task.enabled -or $task.trigger -ne $trigger) { continue }
        if ($null -eq (Get-Simulation -Area 'running' -Name $name)) { Start-Task -Name $name }
    }
}

# What recovery actions do a minute after services ended with an error: they start those that are not disabled.
function Resume-Simulation {
    [CmdletBinding()]
    param()
    $state = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey('recoveries')) { return }
    foreach ($name in @($state.recoveries.Keys)) {
        Set-Simulation -Area 'recoveries' -Name $name -Value $null
        $config = Get-ServiceConfig -Name $name
        if ($null -eq $config -or $config.startType -eq 'disabled') { continue }
        Request-ServiceState -Name $name -State 'running'
    }
}

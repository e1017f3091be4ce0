# The state of the simulated machine, and what happens on it by itself.

# The areas of the machine that the process plays, in memory: tests, engine and node scripts have scopes of their
# own.
function Get-Machine {
    [CmdletBinding()]
    param()
    $areas = [AppDomain]::CurrentDomain.GetData('imagegen-simulation')
    if ($null -eq $areas) {
        $areas = [ordered]@{}
        [AppDomain]::CurrentDomain.SetData('imagegen-simulation', $areas)
    }
    $areas
}

# A value is kept as JSON, so that nobody who got it changes the machine with it; a text is as it is.
function Get-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name)
    $areas = Get-Machine
    $kept = $areas[$Area]
    if ($null -eq $kept) { return $null }
    $value = $kept[$Name.ToLowerInvariant()]
    if ($null -eq $value -or $value -is [string]) { return $value }
    $value = ConvertFrom-Json -InputObject $value[0] -AsHashtable -NoEnumerate
    if ($value -is [array]) { return , $value }
    $value
}

# $null takes the name away.
function Set-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name, $Value)
    $areas = Get-Machine
    if ($null -eq $areas[$Area]) { $areas[$Area] = [ordered]@{} }
    $key = $Name.ToLowerInvariant()
    if ($null -eq $Value) {
        $areas[$Area].Remove($key)
    } elseif ($Value -is [string]) {
        $areas[$Area][$key] = $Value
    } else {
        $areas[$Area][$key] = @(ConvertTo-Json -InputObject $Value -Depth 8 -Compress)
    }
}

# The names of an area.
function Get-SimulationName {
    [CmdletBinding()]
    param([string] $Area)
    $areas = Get-Machine
    $kept = $areas[$Area]
    if ($null -ne $kept) { @($kept.Keys) }
}

# Every name of an area.
function Clear-Simulation {
    [CmdletBinding()]
    param([string] $Area)
    $areas = Get-Machine
    $areas.Remove($Area)
}

# The whole machine as a text, to be compared and to be made again.
function Save-Simulation {
    [CmdletBinding()]
    param()
    ConvertTo-Json -InputObject (Get-Machine) -Depth 4 -Compress
}

# Without a text, a machine that has nothing.
function Restore-Simulation {
    [CmdletBinding()]
    param([string] $Text = '{}')
    $areas = [ordered]@{}
    $read = ConvertFrom-Json -InputObject $Text -AsHashtable
    foreach ($area in $read.Keys) {
        $areas[$area] = [ordered]@{}
        foreach ($name in $read[$area].Keys) { $areas[$area][$name] = $read[$area][$name] }
    }
    [AppDomain]::CurrentDomain.SetData('imagegen-simulation', $areas)
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

# What a domain's policy sets at each start and each day, whatever stands there: values of the area policies.
function Set-DomainPolicy {
    [CmdletBinding()]
    param()
    foreach ($name in Get-SimulationName -Area 'policies') {
        $policy = Get-Simulation -Area 'policies' -Name $name
        Set-RegistryValue -Key $policy.key -Name $policy.name -Kind $policy.kind -Data $policy.data
    }
}

# What Task Scheduler starts at a moment: `startup` with Windows, `minute` and `day` after that. Nothing is started
# beside itself, and an exit code is no reason to start anything again.
function Step-Simulation {
    [CmdletBinding()]
    param([string] $Moment)
    if ($Moment -in 'startup', 'day') { Set-DomainPolicy }
    if ($Moment -eq 'startup') { Complete-InstanceSetup }
    if ($Moment -eq 'minute') {
        Complete-AgentWork
        Resume-Simulation
    }
    if ($Moment -eq 'day') { Install-OwnUpdate }
    $trigger = @{ startup = 'startup'; minute = 'minutely'; day = 'daily' }[$Moment]
    foreach ($name in Get-SimulationName -Area 'tasks') {
        $task = Get-Simulation -Area 'tasks' -Name $name
        if (-not $task.enabled -or $task.trigger -ne $trigger) { continue }
        if ($null -eq (Get-Simulation -Area 'running' -Name $name)) { Start-Task -Name $name }
    }
}

# What recovery actions do a minute after services ended with an error: they start those that are not disabled.
function Resume-Simulation {
    [CmdletBinding()]
    param()
    foreach ($name in Get-SimulationName -Area 'recoveries') {
        Set-Simulation -Area 'recoveries' -Name $name -Value $null
        $config = Get-ServiceConfig -Name $name
        if ($null -eq $config -or $config.startType -eq 'disabled') { continue }
        Request-ServiceState -Name $name -State 'running'
    }
}

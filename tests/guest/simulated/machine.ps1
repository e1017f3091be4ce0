# The machine as a whole: its build, its power plan, its space, its restart.

function Get-OsBuild {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'build'
}

function Get-PowerPlan {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'powerPlan'
}

function Set-PowerPlan {
    [CmdletBinding()]
    param([string] $Plan)
    Confirm-Simulation -Ability 'Set-PowerPlan'
    Set-Simulation -Area 'os' -Name 'powerPlan' -Value $Plan
}

# The simulation runs in PowerShell 7, so its shell is one that a test says.
function Get-ShellObstacle {
    [CmdletBinding()]
    param()
    $obstacle = Get-Simulation -Area 'os' -Name 'shell'
    if ($null -ne $obstacle) { $obstacle }
}

function Get-FreeSpace {
    [CmdletBinding()]
    param()
    $free = Get-Simulation -Area 'os' -Name 'free'
    if ($null -eq $free) { 64GB } else { [long]$free }
}

function Request-Restart {
    [CmdletBinding()]
    param()
    Set-Simulation -Area 'os' -Name 'restart' -Value 'asked'
}

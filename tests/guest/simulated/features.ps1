# Features and capabilities, and the restart that they wait for.

function Test-Feature {
    [CmdletBinding()]
    param([string] $Name)
    $state = Get-Simulation -Area 'features' -Name $Name
    if ($state -eq 'unknown') { throw "this Windows has no feature $Name" }
    $state -eq 'installed'
}

function Set-Feature {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    Confirm-Simulation -Ability 'Set-Feature'
    if (Test-PendingRestart) { throw 'The computer must be restarted to complete another installation' }
    $state = 'removing'
    if ($Installed) { $state = 'pending' }
    Set-Simulation -Area 'features' -Name $Name -Value $state
    $true
}

function Test-PendingRestart {
    [CmdletBinding()]
    param()
    if ($null -ne (Get-Simulation -Area 'os' -Name 'pendingRestart')) { return $true }
    $marks = @('RebootPending', 'RebootInProgress', 'PackagesPending', 'RebootRequired')
    @($marks | Where-Object { $null -ne (Get-Simulation -Area 'restartMarks' -Name $_) }).Count -gt 0
}

function Test-Capability {
    [CmdletBinding()]
    param([string] $Name)
    (Get-Simulation -Area 'capabilities' -Name $Name) -eq 'installed'
}

function Set-Capability {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    Confirm-Simulation -Ability 'Set-Capability'
    $state = $null
    if ($Installed) { $state = 'installed' }
    Set-Simulation -Area 'capabilities' -Name $Name -Value $state
    $false
}

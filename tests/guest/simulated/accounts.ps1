# Local accounts.

function Get-UserState {
    [CmdletBinding()]
    param([string] $Name)
    $state = Get-Simulation -Area 'users' -Name $Name
    if ($null -eq $state) { 'absent' } else { $state }
}

# An account whose name is in the area administrators has the relative id 500.
function Test-BuiltInAdministrator {
    [CmdletBinding()]
    param([string] $Name)
    $null -ne (Get-Simulation -Area 'administrators' -Name $Name)
}

function Set-UserState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    Confirm-Simulation -Ability 'Set-UserState'
    if ((Get-UserState -Name $Name) -eq 'absent') { throw "there is no account $Name" }
    $value = @{ present = 'present'; disabled = 'disabled' }[$State]
    Set-Simulation -Area 'users' -Name $Name -Value $value
}

function Test-SystemAccount {
    [CmdletBinding()]
    param()
    $null -ne (Get-Simulation -Area 'os' -Name 'system')
}

function Test-Administrator {
    [CmdletBinding()]
    param()
    $null -eq (Get-Simulation -Area 'os' -Name 'guest')
}

# Local accounts.

function Get-UserState {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Get-UserState'
    $state = Get-Simulation -Area 'users' -Name $Name
    if ($null -eq $state) { 'absent' } else { $state }
}

# An account whose name is in the area administrators has the relative id 500.
function Test-BuiltInAdministrator {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Test-BuiltInAdministrator'
    $null -ne (Get-Simulation -Area 'administrators' -Name $Name)
}

# Sysprep gives the machine another identifier, and with it each account.
function Get-UserId {
    [CmdletBinding()]
    param([string] $Name)
    if ((Get-UserState -Name $Name) -eq 'absent') { return '' }
    $machine = Get-Simulation -Area 'os' -Name 'machineId'
    if ($null -eq $machine) { $machine = '1-2-3' }
    $relative = 1000 + $Name.Length
    if (Test-BuiltInAdministrator -Name $Name) { $relative = 500 }
    "S-1-5-21-$machine-$relative"
}

function Set-UserState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    Confirm-Simulation -Ability 'Set-UserState'
    if ((Get-UserState -Name $Name) -eq 'absent') { throw "there is no account $Name" }
    $value = @{ present = 'present'; disabled = 'disabled' }[$State]
    Set-Simulation -Area 'users' -Name $Name -Value $value
}

# Whether an account may administer this machine over NTLM. One that is not the built-in administrator gets a token
# without rights there, unless LocalAccountTokenFilterPolicy is 1.
function Test-SessionRight {
    [CmdletBinding()]
    param([string] $Name)
    if ((Get-UserState -Name $Name) -ne 'present') { return $false }
    if (Test-BuiltInAdministrator -Name $Name) { return $true }
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
    $policy = Get-RegistryValue -Key $key -Name 'LocalAccountTokenFilterPolicy'
    $null -ne $policy -and $policy.data -eq 1
}

function Test-SystemAccount {
    [CmdletBinding()]
    param()
    $null -ne (Get-Simulation -Area 'os' -Name 'system')
}

function Get-AccountId {
    [CmdletBinding()]
    param()
    if (Test-SystemAccount) { 'S-1-5-18' } else { 'S-1-5-21-1-2-3-1000' }
}

function Test-Administrator {
    [CmdletBinding()]
    param()
    $null -eq (Get-Simulation -Area 'os' -Name 'guest')
}

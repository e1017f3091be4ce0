# Local accounts.

function Get-UserState {
    [CmdletBinding()]
    param([string] $Name)
    $user = Get-Existing -Absence 'UserNotFound' -Action { Get-LocalUser -Name $Name -ErrorAction Stop }
    if ($null -eq $user) { return 'absent' }
    if ($user.Enabled) { 'present' } else { 'disabled' }
}

# The built-in administrator has the relative id 500, whatever its name: platforms rename it.
function Test-BuiltInAdministrator {
    [CmdletBinding()]
    param([string] $Name)
    $user = Get-Existing -Absence 'UserNotFound' -Action { Get-LocalUser -Name $Name -ErrorAction Stop }
    $null -ne $user -and "$($user.SID)".EndsWith('-500')
}

# Identifier of a local account, or nothing where there is none.
function Get-UserId {
    [CmdletBinding()]
    param([string] $Name)
    $user = Get-Existing -Absence 'UserNotFound' -Action { Get-LocalUser -Name $Name -ErrorAction Stop }
    if ($null -eq $user) { '' } else { "$($user.SID)" }
}

function Set-UserState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    switch ($State) {
        'absent' { Remove-LocalUser -Name $Name }
        'disabled' { Disable-LocalUser -Name $Name }
        'present' { Enable-LocalUser -Name $Name }
    }
}

# Whether this process runs as the machine itself.
function Test-SystemAccount {
    [CmdletBinding()]
    param()
    [Security.Principal.WindowsIdentity]::GetCurrent().IsSystem
}

# Identifier of the account that this process runs as.
function Get-AccountId {
    [CmdletBinding()]
    param()
    [Security.Principal.WindowsIdentity]::GetCurrent().User.Value
}

function Test-Administrator {
    [CmdletBinding()]
    param()
    $principal = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
    $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
}

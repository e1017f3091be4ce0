# A local account. A plan makes none: it would have to hold the password. One that is gone is no way in, so
# `disabled` holds then, too; `closed` holds also for the built-in administrator, which the platform hands to its
# customer.
function Get-localUserResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $userName, [string] $ensure)
    $found = Get-UserState -Name $userName
    if ($ensure -eq 'disabled' -and $found -eq 'absent') { $found = 'disabled' }
    if ($ensure -eq 'closed') {
        $closed = $found -in 'absent', 'disabled' -or (Test-BuiltInAdministrator -Name $userName)
        if ($closed) { $found = 'closed' }
    }
    @{ ensure = $found }
}

function Set-localUserResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $userName, [Parameter(Mandatory)] [string] $ensure)
    if ((Get-UserState -Name $userName) -eq 'absent') {
        throw "there is no account $userName, and plans make none"
    }
    $state = $ensure
    if ($ensure -eq 'closed') { $state = 'disabled' }
    Set-UserState -Name $userName -State $state
}

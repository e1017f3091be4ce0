# A local account. A plan makes none: it would have to hold the password.
function Get-localUserResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $userName)
    @{ ensure = (Get-UserState -Name $userName) }
}

function Set-localUserResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $userName, [Parameter(Mandatory)] [string] $ensure)
    if ((Get-UserState -Name $userName) -eq 'absent') {
        throw "there is no account $userName, and plans make none"
    }
    Set-UserState -Name $userName -State $ensure
}

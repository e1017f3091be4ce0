# A listener of Windows Remote Management, on all addresses.
function Get-winrmListenerResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $transport)
    if (Test-WinrmListener -Transport $transport) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

function Set-winrmListenerResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $transport, [Parameter(Mandatory)] [string] $ensure)
    if ($ensure -eq 'present') {
        New-WinrmListener -Transport $transport
    } else {
        Remove-WinrmListener -Transport $transport
    }
}

# What Windows Update offers of the wanted updates and categories. A name or category of which nothing is missing
# is done; after a restart more may be offered, so the phase is run again.
function Get-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @())
    $missing = @((Invoke-UpdateAgent -Kbs $kbs -Categories $categories -Install $false).missing)
    @{
        kbs = @($kbs | Where-Object { $_ -notin $missing })
        categories = @($categories | Where-Object { $_ -notin $missing })
    }
}

function Set-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @())
    if ((Invoke-UpdateAgent -Kbs $kbs -Categories $categories -Install $true).restart) { 'restart' }
}

# A pinned update package. Whether it is there says the list of installed updates.
function Get-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb)
    if (Test-Hotfix -Kb $kb) { return @{ kb = $kb } }
    @{ kb = 'not installed' }
}

function Set-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb, [Parameter(Mandatory)] [string] $url,
        [Parameter(Mandatory)] [string] $algorithm, [Parameter(Mandatory)] [string] $digest,
        [Parameter(Mandatory)] [string] $cache)
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    if (Install-Hotfix -Package $cache) { 'restart' }
}

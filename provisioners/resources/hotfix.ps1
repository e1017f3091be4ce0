# A pinned update package. It counts as installed when Windows lists it, or when a record says that it was there or
# is not for this Windows: Windows does not list an update that a later one replaced.
function Get-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb, [Parameter(Mandatory)] [string] $digest)
    if (Test-Hotfix -Kb $kb) { return @{ kb = $kb } }
    $record = Read-Record
    if ($null -ne $record -and $record.digest -ceq $digest) { return @{ kb = $kb } }
    @{ kb = 'not installed' }
}

function Set-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb, [Parameter(Mandatory)] [string] $url,
        [Parameter(Mandatory)] [string] $algorithm, [Parameter(Mandatory)] [string] $digest,
        [Parameter(Mandatory)] [string] $cache)
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    $outcome = Install-Hotfix -Package $cache
    if ($outcome -in 'present', 'notApplicable') { Write-Record -Record @{ digest = $digest; outcome = $outcome } }
    if ($outcome -eq 'restart') { 'restart' }
}

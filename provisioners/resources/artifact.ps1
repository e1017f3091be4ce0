# A pinned file that is used as it was published.
function Get-artifactResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [string] $algorithm)
    @{ digest = (Get-Digest -Path $path -Algorithm $algorithm) }
}

# Copied out of the cache, not moved: a moved file keeps the access of the folder it came from. The digest is
# taken of the copy, of the very bytes that get the final name.
function Set-artifactResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [Parameter(Mandatory)] [string] $url,
        [Parameter(Mandatory)] [string] $algorithm, [Parameter(Mandatory)] [string] $digest)
    $cache = Get-CachePath -Digest $digest
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    $partial = New-Partial -Target $path
    Copy-File -From $cache -To $partial
    $found = Get-Digest -Path $partial -Algorithm $algorithm
    if ($found -cne $digest) {
        [IO.File]::Delete($partial)
        throw "digest of the copy of $cache is $found, pinned is $digest"
    }
    Move-Partial -Target $path
    [IO.File]::Delete($cache)
}

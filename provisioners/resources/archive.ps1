# Files out of a pinned archive. The archive is there during the build only, so a record remembers by its digest
# what each member was.
function Get-archiveResource {
    [CmdletBinding()]
    param([object[]] $members)
    $record = Read-Record
    if ($null -eq $record) { return @{ digest = $null; members = @() } }
    $known = ConvertTo-Splat -InputObject $record.members
    $intact = @(foreach ($item in $members) {
        $found = Get-Digest -Path $item.path
        $pinned = Get-MemberDigest -Item $item
        if ($null -eq $pinned) { $pinned = $known[$item.path] }
        if ($null -ne $found -and $found -ceq $pinned) { $item }
    })
    @{ digest = $record.digest; members = $intact }
}

function Set-archiveResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $url, [Parameter(Mandatory)] [string] $algorithm,
        [Parameter(Mandatory)] [string] $digest, [Parameter(Mandatory)] [string] $format,
        [Parameter(Mandatory)] [string] $cache, [Parameter(Mandatory)] [object[]] $members)
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    if ($format -eq 'zip') {
        Copy-ZipMember -Archive $cache -Members $members
    } elseif ($format -eq 'tar.gz') {
        Copy-TarMember -Archive $cache -Members $members
    } else {
        throw "no way to open an archive of format $format"
    }
    $known = @{}
    foreach ($item in $members) { $known[$item.path] = Get-Digest -Path $item.path }
    Write-Record -Record @{ digest = $digest; members = $known }
}

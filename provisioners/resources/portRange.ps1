# The dynamic port range of a protocol, or a range that is excluded from it.
function Get-portRangeResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $protocol, [int] $start,
        [int] $count)
    if ($kind -eq 'dynamic') { return Get-DynamicPort -Protocol $protocol }
    foreach ($range in Get-ExcludedPort -Protocol $protocol) {
        if ($range.start -eq $start -and $range.count -eq $count) { return $range }
    }
    @{ start = $null; count = $null }
}

function Set-portRangeResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $protocol,
        [Parameter(Mandatory)] [int] $start, [Parameter(Mandatory)] [int] $count)
    if ($kind -eq 'dynamic') {
        Set-DynamicPort -Protocol $protocol -Start $start -Count $count
    } else {
        Add-ExcludedPort -Protocol $protocol -Start $start -Count $count
    }
}

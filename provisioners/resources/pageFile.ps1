# The one page file of the machine. It is read at the start of Windows.
function Get-pageFileResource {
    [CmdletBinding()]
    param()
    $value = Get-RegistryValue -Key (Get-MemoryKey) -Name 'PagingFiles'
    $lines = @(if ($null -ne $value) { $value.data })
    $isList = $null -ne $value -and $value.kind -eq 'MultiString'
    if (-not $isList -or $lines.Count -ne 1 -or $lines[0] -notmatch '^(\S+) (\d+) (\d+)$') {
        return @{ path = "$lines"; initialMegabytes = 0; maximumMegabytes = 0 }
    }
    @{ path = $Matches[1]; initialMegabytes = [int]$Matches[2]; maximumMegabytes = [int]$Matches[3] }
}

function Set-pageFileResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [Parameter(Mandatory)] [int] $initialMegabytes,
        [Parameter(Mandatory)] [int] $maximumMegabytes)
    $line = "$path $initialMegabytes $maximumMegabytes"
    Set-RegistryValue -Key (Get-MemoryKey) -Name 'PagingFiles' -Kind 'MultiString' -Data @($line)
    'restart'
}

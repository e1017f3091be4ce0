# A symbolic link to a directory.
function Get-symlinkResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [string] $target)
    $found = Get-LinkTarget -Path $path
    # Windows has backslashes in a target, and no case.
    if ($found -eq $target.Replace('/', '\').TrimEnd('\')) { $found = $target }
    if ($null -ne $found) { return @{ ensure = 'present'; target = $found } }
    if (Test-Path -LiteralPath $path) { return @{ ensure = 'not a link' } }
    @{ ensure = 'absent' }
}

function Set-symlinkResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [Parameter(Mandatory)] [string] $ensure, [string] $target)
    if ($null -ne (Get-LinkTarget -Path $path)) {
        Remove-Link -Path $path
    } elseif (Test-Path -LiteralPath $path) {
        throw "$path is there and no link: it is left alone"
    }
    if ($ensure -eq 'absent') { return }
    $parent = [IO.Path]::GetDirectoryName((Resolve-NativePath -Path $path))
    $null = [IO.Directory]::CreateDirectory($parent)
    New-Link -Path $path -Target $target
}

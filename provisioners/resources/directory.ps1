# A directory, optionally with its whole access control; `empty` keeps the directory itself.
function Get-directoryResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [string] $ensure, [string] $sddl)
    if (Test-Path -LiteralPath $path -PathType Leaf) { return @{ ensure = 'a file' } }
    if (-not (Test-Path -LiteralPath $path)) { return @{ ensure = 'absent' } }
    $state = @{ ensure = 'present' }
    if ($ensure -eq 'empty') {
        $count = @(Get-ChildItem -LiteralPath $path -Force).Count
        $state.ensure = "holding $count entries"
        if ($count -eq 0) { $state.ensure = 'empty' }
    }
    if ($sddl) { $state.sddl = Get-Sddl -Path $path }
    $state
}

function Set-directoryResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [Parameter(Mandatory)] [string] $ensure, [string] $sddl)
    if (Test-Path -LiteralPath $path -PathType Leaf) { throw "$path is a file: it is left alone" }
    if ($ensure -eq 'absent') { return Remove-Tree -Path $path }
    if (-not (Test-Path -LiteralPath $path)) {
        $null = [IO.Directory]::CreateDirectory((Resolve-NativePath -Path $path))
    } elseif ($ensure -eq 'empty') {
        Clear-Folder -Path $path
    }
    if ($sddl) { Set-Sddl -Path $path -Sddl $sddl }
}

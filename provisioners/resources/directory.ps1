# A directory, optionally with its whole access control; `empty` keeps the directory itself.
function Get-directoryResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [string] $ensure, [string] $sddl)
    if (-not (Test-Path -LiteralPath $path -PathType Container)) { return @{ ensure = 'absent' } }
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
    $there = Test-Path -LiteralPath $path -PathType Container
    if ($ensure -eq 'absent') {
        Remove-Item -LiteralPath $path -Recurse -Force
        return
    }
    if (-not $there) {
        $null = [IO.Directory]::CreateDirectory((Resolve-NativePath -Path $path))
    } elseif ($ensure -eq 'empty') {
        Get-ChildItem -LiteralPath $path -Force | Remove-Item -Recurse -Force
    }
    if ($sddl) { Set-Sddl -Path $path -Sddl $sddl }
}

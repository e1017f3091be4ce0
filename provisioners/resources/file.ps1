# A text file: UTF-8 without byte order mark, line ends as given. `sha256` is that of the content's bytes.
function Get-fileResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [string] $sddl)
    if (Test-Path -LiteralPath $path -PathType Container) { return @{ ensure = 'a folder' } }
    if (-not (Test-Path -LiteralPath $path)) { return @{ ensure = 'absent' } }
    $state = @{ ensure = 'present'; sha256 = (Get-Digest -Path $path) }
    if ($sddl) { $state.sddl = Get-Sddl -Path $path }
    $state
}

function Set-fileResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $path, [Parameter(Mandatory)] [string] $ensure, [string] $content,
        [string] $sha256, [string] $sddl)
    if (Test-Path -LiteralPath $path -PathType Container) { throw "$path is a folder: it is left alone" }
    if ($ensure -eq 'absent') {
        Remove-Item -LiteralPath $path -Force
        return
    }
    # Without content the file is someone else's and only its access is wanted.
    if ($PSBoundParameters.ContainsKey('content')) {
        Write-TextFile -Path $path -Content $content
        if ($sha256 -and (Get-Digest -Path $path) -cne $sha256) { throw "the plan's content has not its sha256" }
    } elseif (-not (Test-Path -LiteralPath $path -PathType Leaf)) {
        throw "there is no file $path and the plan has no content for it"
    }
    if ($sddl) { Set-Sddl -Path $path -Sddl $sddl }
}

# A pinned Windows Installer package, known as installed by a file that it creates and by the record.
function Get-msiResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $creates)
    $record = Read-Record
    if ($null -eq $record -or -not (Test-Path -LiteralPath $creates -PathType Leaf)) { return @{ digest = $null } }
    @{ digest = $record.digest }
}

function Set-msiResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $url, [Parameter(Mandatory)] [string] $algorithm,
        [Parameter(Mandatory)] [string] $digest, [Parameter(Mandatory)] [string] $cache,
        [Parameter(Mandatory)] [string] $creates, [string[]] $arguments = @())
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    $package = Resolve-NativePath -Path $cache
    while ($true) {
        $outcome = Install-Msi -Package $package -Log "$package.log" -Arguments $arguments
        if ('busy' -ne $outcome) { break }
        # No restart is needed for it, also where one is due.
        $null = Get-TimeLeft -Doing "waiting for another installation to end before $cache"
        Start-Sleep -Seconds 15
    }
    if (-not (Test-Path -LiteralPath $creates -PathType Leaf)) {
        throw "the package was installed, but there is no $creates; see $cache.log"
    }
    Write-Record -Record @{ digest = $digest }
    if ($outcome -eq 'restart') { 'restart' }
}

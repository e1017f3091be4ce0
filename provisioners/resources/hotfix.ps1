# A pinned update package. It counts as installed when Windows lists it, or when a record says what came of it:
# Windows does not list an update that a later one replaced, nor one that consists of others.
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
    while ($true) {
        $outcome = Install-Hotfix -Package $cache
        if ($outcome -ne 'busy') { break }
        # The engine asks for the restart.
        if (Test-PendingRestart) { throw 'Windows waits for a restart' }
        $null = Get-TimeLeft -Doing "waiting for another installation to end before $kb"
        Start-Sleep -Seconds 15
    }
    # Windows lists neither what a later update replaced nor every package's own name.
    Write-Record -Record @{ digest = $digest; outcome = $outcome }
    if ($outcome -eq 'restart') { 'restart' }
}

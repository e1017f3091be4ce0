# A pinned update package. It counts as installed when Windows lists it, or when a record says that it is there or
# not needed: Windows does not list an update that a later one replaced, nor one that consists of others.
function Get-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb, [Parameter(Mandatory)] [string] $digest)
    $before = Get-HotfixOutcome -Digest $digest
    if (Test-Hotfix -Kb $kb) {
        # What is there behind its restart was not taken back, also where a later update replaces it in the list.
        if ($before -in 'restart', 'secondRestart' -and (Test-Settled)) {
            Write-Record -Record @{ digest = $digest; outcome = 'installed' }
        }
        return @{ kb = $kb }
    }
    if ($before -in 'installed', 'present', 'notApplicable') { return @{ kb = $kb } }
    @{ kb = 'not installed' }
}

# What came of the package before, `none` where it is another one.
function Get-HotfixOutcome {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Digest)
    $record = Read-Record
    if ($null -eq $record -or $record.digest -cne $Digest) { return 'none' }
    $record.outcome
}

function Set-hotfixResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kb, [Parameter(Mandatory)] [string] $url,
        [Parameter(Mandatory)] [string] $algorithm, [Parameter(Mandatory)] [string] $digest,
        [Parameter(Mandatory)] [string] $cache)
    # Windows may take an update back during the restart, so one that it does not list is installed once more: one
    # that is there is told to be, and one that was taken back twice would be again.
    $before = Get-HotfixOutcome -Digest $digest
    if ($before -in 'restart', 'secondRestart') {
        if (Test-PendingRestart) { throw 'Windows waits for a restart' }
        if ($before -eq 'secondRestart') { throw "Windows took $kb back during two restarts, see its log CBS.log" }
    }
    Confirm-PinnedFile -Url $url -Path $cache -Algorithm $algorithm -Digest $digest
    while ($true) {
        $outcome = Install-Hotfix -Package $cache
        if ($outcome -ne 'busy') { break }
        Wait-Installation -Doing $kb
    }
    # Windows lists neither what a later update replaced nor every package's own name.
    $record = @{ digest = $digest; outcome = $outcome }
    if ($outcome -eq 'restart' -and $before -eq 'restart') { $record.outcome = 'secondRestart' }
    Write-Record -Record $record
    if ($outcome -eq 'restart') { 'restart' }
}

# What Windows Update offers of the wanted updates and categories, without the exceptions. A name or category of
# which nothing is missing is done; after a restart more may be offered, so the phase is run again.
function Get-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @(), [string[]] $except = @())
    $found = Search-WantedUpdate -Search @{ Kbs = $kbs; Categories = $categories; Except = $except }
    $missing = @($found.missing)
    # What is there behind its restart was not taken back.
    if ($missing.Count -eq 0 -and (Test-Settled)) { Remove-Record }
    @{
        kbs = @($kbs | Where-Object { $_ -notin $missing })
        categories = @($categories | Where-Object { $_ -notin $missing })
    }
}

# What another installation keeps from its end tells nothing of what is missing.
function Search-WantedUpdate {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Search)
    while ($true) {
        $found = Invoke-UpdateAgent @Search -Install $false
        if (-not $found.busy) { return $found }
        Wait-Installation -Doing 'the search of updates'
    }
}

# In several rounds, because an update may fail until another one is there, and a busy agent is waited for.
function Set-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @(), [string[]] $except = @())
    $search = @{ Kbs = $kbs; Categories = $categories; Except = $except }
    # The engine asks for the restart.
    if (Test-PendingRestart) { throw 'Windows waits for a restart' }
    Assert-UpdateKept -Search $search
    $round = 1
    while ($true) {
        $outcome = Invoke-UpdateAgent @search -Install $true
        $failed = @($outcome.failed)
        foreach ($text in $failed) { Write-Setback -Text "not installed: $text" }
        if ($outcome.restart) {
            Write-UpdateRecord -Offered @($outcome.offered) -Failed $failed
            return 'restart'
        }
        if (-not $outcome.busy -and $failed.Count -eq 0) { return }
        if (-not $outcome.busy) { $round++ }
        if ($round -gt 3) { throw "not installed, leave out with updates.except: $($failed -join '; ')" }
        $null = Get-TimeLeft -Doing 'waiting for the update agent'
        Start-Sleep -Seconds 15
        if (Test-PendingRestart) { throw 'Windows waits for a restart' }
    }
}

# Windows may take an update back during its restart, and one that fails may succeed behind that of another. One
# that is missing behind two restarts would be behind each.
function Assert-UpdateKept {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Search)
    $record = Read-Record
    if ($null -eq $record -or @($record.twice).Count -eq 0) { return }
    $found = Search-WantedUpdate -Search $Search
    $told = @(foreach ($title in @($found.offered | Where-Object { $_ -in @($record.twice) })) {
        $why = @($record.failed | Where-Object { "$_".StartsWith("${title}: ") })
        if ($why.Count -gt 0) { $why[0] } else { "${title}: Windows took it back" }
    })
    if ($told.Count -gt 0) {
        throw "missing behind two restarts, leave out with updates.except: $($told -join '; ')"
    }
}

# What was missing before this restart, and what was missing before the one before it, too.
function Write-UpdateRecord {
    [CmdletBinding()]
    param([string[]] $Offered = @(), [string[]] $Failed = @())
    $before = @()
    $record = Read-Record
    if ($null -ne $record) { $before = @($record.once) }
    $twice = @($Offered | Where-Object { $_ -in $before })
    Write-Record -Record @{ once = $Offered; twice = $twice; failed = $Failed }
}

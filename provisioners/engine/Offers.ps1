# What Windows Update offers, and what it offered before the restarts. Loaded by Tools.ps1.

# What another installation keeps from its end tells nothing of what is missing.
function Search-WantedUpdate {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Search)
    while ($true) {
        $found = Invoke-UpdateAgent @Search -Install $false
        if (-not $found.busy) { break }
        Wait-Installation -Doing 'the search of updates'
    }
    $found
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

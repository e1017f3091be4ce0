# What Windows Update offers of the wanted updates and categories, without the exceptions. A name or category of
# which nothing is missing is done; after a restart more may be offered, so the phase is run again.
function Get-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @(), [string[]] $except = @())
    $search = @{ Kbs = $kbs; Categories = $categories; Except = $except }
    # What another installation keeps from its end tells nothing of what is missing.
    while ($true) {
        $found = Invoke-UpdateAgent @search -Install $false
        if (-not $found.busy) { break }
        Wait-Installation -Doing 'the search of updates'
    }
    $missing = @($found.missing)
    @{
        kbs = @($kbs | Where-Object { $_ -notin $missing })
        categories = @($categories | Where-Object { $_ -notin $missing })
    }
}

# In several rounds, because an update may fail until another one is there, and a busy agent is waited for.
function Set-windowsUpdateResource {
    [CmdletBinding()]
    param([string[]] $kbs = @(), [string[]] $categories = @(), [string[]] $except = @())
    $search = @{ Kbs = $kbs; Categories = $categories; Except = $except }
    $round = 1
    while ($true) {
        # The engine asks for the restart.
        if (Test-PendingRestart) { throw 'Windows waits for a restart' }
        $outcome = Invoke-UpdateAgent @search -Install $true
        if ($outcome.restart) { return 'restart' }
        $failed = @($outcome.failed)
        if (-not $outcome.busy -and $failed.Count -eq 0) { return }
        if (-not $outcome.busy) { $round++ }
        if ($round -gt 3) { throw "not installed, leave out with updates.except: $($failed -join '; ')" }
        $null = Get-TimeLeft -Doing 'waiting for the update agent'
        Start-Sleep -Seconds 15
    }
}

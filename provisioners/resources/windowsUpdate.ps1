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

<#
.SYNOPSIS
Searches Windows updates and, when asked to, installs them.

.DESCRIPTION
Run by a task of SYSTEM, because the update agent refuses remote sessions. What came of it is written to a file
as JSON: missing (the wanted names and categories of which something is not installed), offered (the titles of what
is not), failed (titles and codes), busy (another installation is in progress or waits for a restart), restart,
error.

.PARAMETER Result
The file.

.PARAMETER Kbs
Wanted updates, separated by commas.

.PARAMETER Categories
Ids of wanted categories, separated by commas.

.PARAMETER Except
Updates that are left out, separated by commas, unless Kbs names them.

.PARAMETER Install
Install what is missing.

.EXAMPLE
C:\imagegen\engine\Update.ps1 -Result C:\imagegen\state\updates.json -Kbs KB5058411
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory)] [string] $Result,
    [string] $Kbs = '',
    [string] $Categories = '',
    [string] $Except = '',
    [switch] $Install
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'

# For what an update is wanted: its name, its categories, or nothing. An optional one is wanted by its name alone.
function Get-Reason {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Update, [Parameter(Mandatory)] [AllowEmptyCollection()] [string[]] $Wanted,
        [Parameter(Mandatory)] [AllowEmptyCollection()] [string[]] $Left)
    $names = @($Update.KBArticleIDs | ForEach-Object { "KB$_" })
    $named = @($Wanted | Where-Object { $_ -in $names })
    if ($named.Count -gt 0) { return $named }
    if ($Update.BrowseOnly -or @($Left | Where-Object { $_ -in $names }).Count -gt 0) { return }
    $own = @($Update.Categories | ForEach-Object { $_.CategoryID })
    $Wanted | Where-Object { $_ -in $own }
}

# What is not installed. A search that ended with errors has an incomplete list, which is no answer
# (OperationResultCode 3; https://github.com/ansible-collections/ansible.windows/issues/366): it is asked again.
# So is one that throws: after a start of Windows the network may not be there yet (0x8024402C, 0x8024401C).
function Search-Update {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Session)
    $searcher = $Session.CreateUpdateSearcher()
    for ($try = 1; $try -le 10; $try++) {
        try {
            $found = $searcher.Search('IsInstalled=0 and IsHidden=0')
            if ([int]$found.ResultCode -eq 2) { return $found.Updates }
        } catch {
            if ($try -eq 10) { throw }
        }
        Start-Sleep -Seconds 30
    }
    throw "the search ended with $($found.ResultCode) each time, so that its list is not complete"
}

# The updates of a collection that were not installed, with their error codes.
function Get-Failure {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Outcome, [Parameter(Mandatory)] $Updates)
    for ($i = 0; $i -lt $Updates.Count; $i++) {
        $result = $Outcome.GetUpdateResult($i)
        if ($result.ResultCode -ne 2) { '{0}: 0x{1:x8}' -f $Updates.Item($i).Title, $result.HResult }
    }
}

# Installs a collection, each update by its own outcome: whether a restart is needed, and what failed.
# OperationResultCode: 2 succeeded, 3 succeeded with errors.
function Install-Update {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Session, [Parameter(Mandatory)] $Updates)
    $downloader = $Session.CreateUpdateDownloader()
    $downloader.Updates = $Updates
    $code = $downloader.Download().ResultCode
    if ($code -notin 2, 3) { throw "the download ended with $code" }
    $ready = New-Object -ComObject 'Microsoft.Update.UpdateColl'
    $failed = @(foreach ($update in $Updates) {
        if ($update.IsDownloaded) { $null = $ready.Add($update) } else { "$($update.Title): not downloaded" }
    })
    if ($ready.Count -eq 0) { return @{ restart = $false; failed = $failed } }
    $installer = $Session.CreateUpdateInstaller()
    $installer.Updates = $ready
    $outcome = $installer.Install()
    $failed += @(Get-Failure -Outcome $outcome -Updates $ready)
    @{ restart = [bool]$outcome.RebootRequired; failed = $failed }
}

$report = [ordered]@{ missing = @(); offered = @(); failed = @(); busy = $false; restart = $false; error = '' }
try {
    $wanted = @("$Kbs,$Categories".Split(',') | Where-Object { $_ })
    $left = @($Except.Split(',') | Where-Object { $_ })
    $session = New-Object -ComObject 'Microsoft.Update.Session'
    $updates = New-Object -ComObject 'Microsoft.Update.UpdateColl'
    $missing = @(foreach ($update in Search-Update -Session $session) {
        $reasons = @(Get-Reason -Update $update -Wanted $wanted -Left $left)
        if ($reasons.Count -gt 0) {
            if (-not $update.EulaAccepted) { $null = $update.AcceptEula() }
            $null = $updates.Add($update)
        }
        $reasons
    })
    $report.missing = @($missing | Sort-Object -Unique)
    $report.offered = @(foreach ($update in $updates) { $update.Title })
    if ($Install -and $updates.Count -gt 0) {
        $outcome = Install-Update -Session $session -Updates $updates
        $report.restart = $outcome.restart
        $report.failed = @($outcome.failed)
    }
} catch {
    # 0x80240016: another installation is in progress, or waits for a restart.
    $report.busy = $_.Exception.GetBaseException().HResult -eq -2145124330
    if (-not $report.busy) { $report.error = $_.Exception.Message }
}
$encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
[IO.File]::WriteAllText($Result, (ConvertTo-Json -InputObject $report -Compress), $encoding)

<#
.SYNOPSIS
Searches Windows updates and, when asked to, installs them.

.DESCRIPTION
Run by a task of SYSTEM, because the update agent refuses remote sessions. What came of it is written to a file
as JSON: missing (the wanted names and categories of which something is not installed), restart, error.

.PARAMETER Result
The file.

.PARAMETER Kbs
Wanted updates, separated by commas.

.PARAMETER Categories
Ids of wanted categories, separated by commas.

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
    [switch] $Install
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'

# For what an update is wanted: its name, its categories, or nothing.
function Get-Reason {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Update, [Parameter(Mandatory)] [AllowEmptyCollection()] [string[]] $Wanted)
    $own = @($Update.KBArticleIDs | ForEach-Object { "KB$_" })
    $own += @($Update.Categories | ForEach-Object { $_.CategoryID })
    $Wanted | Where-Object { $_ -in $own }
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

# Installs a collection; $true when a restart is needed. OperationResultCode: 2 succeeded, 3 succeeded with errors,
# which is enough where the next search can try the others again after a restart.
function Install-Update {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Session, [Parameter(Mandatory)] $Updates)
    $downloader = $Session.CreateUpdateDownloader()
    $downloader.Updates = $Updates
    $code = $downloader.Download().ResultCode
    if ($code -ne 2) { throw "the download ended with $code" }
    $installer = $Session.CreateUpdateInstaller()
    $installer.Updates = $Updates
    $outcome = $installer.Install()
    $partly = $outcome.ResultCode -eq 3 -and $outcome.RebootRequired
    if ($outcome.ResultCode -ne 2 -and -not $partly) {
        $failures = @(Get-Failure -Outcome $outcome -Updates $Updates) -join '; '
        throw "the installation ended with $($outcome.ResultCode): $failures"
    }
    $outcome.RebootRequired
}

$report = [ordered]@{ missing = @(); restart = $false; error = '' }
try {
    $wanted = @("$Kbs,$Categories".Split(',') | Where-Object { $_ })
    $session = New-Object -ComObject 'Microsoft.Update.Session'
    $found = $session.CreateUpdateSearcher().Search('IsInstalled=0 and IsHidden=0').Updates
    $updates = New-Object -ComObject 'Microsoft.Update.UpdateColl'
    $missing = @(foreach ($update in $found) {
        $reasons = @(Get-Reason -Update $update -Wanted $wanted)
        if ($reasons.Count -gt 0) {
            if (-not $update.EulaAccepted) { $null = $update.AcceptEula() }
            $null = $updates.Add($update)
        }
        $reasons
    })
    $report.missing = @($missing | Sort-Object -Unique)
    if ($Install -and $updates.Count -gt 0) {
        $report.restart = [bool](Install-Update -Session $session -Updates $updates)
    }
} catch {
    $report.error = $_.Exception.Message
}
$encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
[IO.File]::WriteAllText($Result, (ConvertTo-Json -InputObject $report -Compress), $encoding)

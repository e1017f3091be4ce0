<#
.SYNOPSIS
Shows on a real Windows that the laws hold which the engine relies on, and applies, breaks and repairs resources.

.DESCRIPTION
For an ordinary Windows machine, elevated, that may be changed. It makes a folder, files, registry values,
variables, services, tasks, firewall rules, a link, a certificate and, under Windows PowerShell, an account, and
removes them at the end. It switches two settings of WinRM off while each network is public. The files come with
the plan, but for one of a server that it starts on loopback.
Suites run in processes of their own, and one that takes too long is ended with what it started. Neither keeps the
next one from its work. The report says of each law in laws.json that a runner shows whether it holds here,
differs, or was not reached. Exit codes: 0 everything is as expected, 1 something is not.

.PARAMETER Provisioners
The folder with engine and resources.

.PARAMETER Report
File for the report, JSON.

.PARAMETER Session
network: suites run as in a session of WinRM, which Packer builds in: its logon may not do all that a console's
may. PowerShell remoting must be enabled, for this account.

.PARAMETER Seconds
Time for each suite.

.PARAMETER Suites
Suites of one process, and not to be given by hand, as is the next.

.PARAMETER Events
File with a line for each suite that begins or ends.

.EXAMPLE
powershell.exe -NoProfile -ExecutionPolicy Bypass -File tests\guest\real.ps1 -Report laws-2025.json
#>
[CmdletBinding()]
param(
    [string] $Provisioners,
    [string] $Report,
    [ValidateSet('console', 'network')]
    [string] $Session = 'console',
    [ValidateRange(10, 3600)]
    [int] $Seconds = 180,
    [string] $Suites = '',
    [string] $Events = ''
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if (-not $Provisioners) { $Provisioners = "$PSScriptRoot\..\..\provisioners" }
$script:Root = 'C:\imagegen-real'
$script:Work = "$script:Root\work"
$script:Life = "$script:Root\life"
$script:Cases = @()
$script:Service = "$script:Root\service.exe"
$script:Key = 'HKLM:\SOFTWARE\imagegen-real'
$script:Passed = 0
$script:Failed = 0
$script:Failures = @()
$script:Laws = @{}
$script:Seconds = $Seconds
$script:Events = $Events
$script:FolderAccess = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
$script:FileAccess = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'

$isThere = -not $Suites -and (Test-Path -LiteralPath $script:Root)
if ($isThere) { throw "$script:Root is there already: remove it first" }
# Whole paths, because programs that are started have a folder of their own.
$given = $ExecutionContext.SessionState.Path
$Provisioners = $given.GetUnresolvedProviderPathFromPSPath($Provisioners)
if ($Report) { $Report = $given.GetUnresolvedProviderPathFromPSPath($Report) }
. "$Provisioners/engine/Tools.ps1"
. "$Provisioners/engine/Windows.ps1"
. "$PSScriptRoot/script-paths.ps1"
. "$PSScriptRoot/real/checks.ps1"
. "$PSScriptRoot/real/watch.ps1"
. "$PSScriptRoot/real/life.ps1"
. "$PSScriptRoot/real/failures.ps1"
. "$PSScriptRoot/real/service-suites.ps1"
. "$PSScriptRoot/real/recovery-suites.ps1"
. "$PSScriptRoot/real/file-suites.ps1"
. "$PSScriptRoot/real/handle-suites.ps1"
. "$PSScriptRoot/real/task-suites.ps1"
. "$PSScriptRoot/real/machine-suites.ps1"
. "$PSScriptRoot/real/system-suites.ps1"
. "$PSScriptRoot/real/package-suites.ps1"
. "$PSScriptRoot/real/launcher-suites.ps1"
if ($Suites) {
    foreach ($name in $Suites.Split(',')) { Invoke-NamedSuite -Name $name }
    exit 0
}
# The first ones belong together: what one makes the next one breaks, and the last takes it back.
$bound = 'New-ServiceProgram', 'Get-Case', 'Test-Life', 'Test-Start', 'Test-Failure', 'Test-Redirect',
    'Remove-Everything'
$others = 'ServiceState', 'ServiceRefusal', 'ServiceEnvironment', 'ServicePending', 'ServiceDependency',
    'ServiceStartType', 'ServiceRecovery', 'Registry', 'Move', 'Held', 'Access', 'Handle', 'HandleReason',
    'OddName', 'DottedName', 'Archive', 'Certificate', 'TaskXml', 'Task', 'Process', 'Shell', 'Machine',
    'Network', 'Firewall', 'Winrm', 'Account', 'Diagnosis', 'Package', 'Check', 'Launcher' |
    ForEach-Object { "Test-$_" }
try {
    Copy-Script
    $null = [IO.Directory]::CreateDirectory($script:Work)
    $own = @{ Provisioners = $Provisioners; Session = $Session }
    Invoke-Watched -Names $bound -Together @own
    Invoke-Watched -Names $others @own
    Invoke-Suite -Name 'Registry is as before' -Block {
        Invoke-Registry -Arguments @('delete', 'HKLM\SOFTWARE\imagegen-real', '/f')
    }
} finally {
    if ($Report) {
        # Not piped: 5.1 hands an array of JSON on as one object.
        $known = ConvertFrom-Json -InputObject ([IO.File]::ReadAllText("$PSScriptRoot\laws.json"))
        Write-LawReport -Path $Report -Known @($known) -Session $Session
    }
    if (Test-Path -LiteralPath $script:Root) { Remove-Item -LiteralPath $script:Root -Recurse -Force }
}
Write-Output -InputObject "$script:Passed passed, $script:Failed failed"
exit [int]($script:Failed -gt 0)

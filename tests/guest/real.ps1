<#
.SYNOPSIS
Shows on a real Windows that the laws hold which the engine relies on, and applies, breaks and repairs resources.

.DESCRIPTION
For an ordinary Windows machine, elevated, that may be changed. It makes a folder, files, registry values,
variables, services, tasks, firewall rules, a link, a certificate and, under Windows PowerShell, an account, and
removes them at the end. It switches two settings of WinRM off while each network is public. The files come with
the plan, but for one of a server that it starts on loopback.
A suite that fails does not keep the next one from its work. The report says of each law in laws.json that a runner
shows whether it holds here, differs, or was not reached.
Exit codes: 0 everything is as expected, 1 something is not.

.PARAMETER Provisioners
The folder with engine and resources.

.PARAMETER Report
File for the report, JSON.

.EXAMPLE
powershell.exe -NoProfile -ExecutionPolicy Bypass -File tests\guest\real.ps1 -Report laws-2025.json
#>
[CmdletBinding()]
param([string] $Provisioners, [string] $Report)
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
$script:FolderAccess = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
$script:FileAccess = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'

if (Test-Path -LiteralPath $script:Root) { throw "$script:Root is there already: remove it first" }
# Whole paths, because programs that are started have a folder of their own.
$given = $ExecutionContext.SessionState.Path
$Provisioners = $given.GetUnresolvedProviderPathFromPSPath($Provisioners)
if ($Report) { $Report = $given.GetUnresolvedProviderPathFromPSPath($Report) }
. "$Provisioners/engine/Tools.ps1"
. "$Provisioners/engine/Windows.ps1"
. "$PSScriptRoot/script-paths.ps1"
. "$PSScriptRoot/real/checks.ps1"
. "$PSScriptRoot/real/life.ps1"
. "$PSScriptRoot/real/failures.ps1"
. "$PSScriptRoot/real/service-suites.ps1"
. "$PSScriptRoot/real/recovery-suites.ps1"
. "$PSScriptRoot/real/file-suites.ps1"
. "$PSScriptRoot/real/handle-suites.ps1"
. "$PSScriptRoot/real/task-suites.ps1"
. "$PSScriptRoot/real/machine-suites.ps1"
. "$PSScriptRoot/real/system-suites.ps1"
. "$PSScriptRoot/real/launcher-suites.ps1"
try {
    Copy-Script
    $null = [IO.Directory]::CreateDirectory($script:Work)
    Invoke-Suite -Name 'New-ServiceProgram' -Block { New-ServiceProgram }
    Invoke-Suite -Name 'Get-Case' -Block { $script:Cases = @(Get-Case) }
    Invoke-Suite -Name 'Test-Life' -Block { Test-Life -Cases $script:Cases }
    Invoke-Suite -Name 'Test-Start' -Block { Test-Start }
    Invoke-Suite -Name 'Test-Failure' -Block { Test-Failure -Cases $script:Cases }
    Invoke-Suite -Name 'Test-Redirect' -Block { Test-Redirect }
    $suites = 'ServiceState', 'ServiceRefusal', 'ServiceEnvironment', 'ServicePending', 'ServiceDependency',
        'ServiceStartType', 'ServiceRecovery', 'Registry', 'Move', 'Held', 'Access', 'Handle', 'HandleReason',
        'OddName', 'DottedName', 'Archive', 'Certificate', 'TaskXml', 'Task', 'Process', 'Shell', 'Machine',
        'Network', 'Firewall', 'Winrm', 'Account', 'Diagnosis', 'Check', 'Launcher'
    foreach ($suite in $suites) { Invoke-Suite -Name "Test-$suite" -Block { & "Test-$suite" } }
    Invoke-Suite -Name 'Remove-Everything' -Block { Remove-Everything -Cases $script:Cases }
    Invoke-Registry -Arguments @('delete', 'HKLM\SOFTWARE\imagegen-real', '/f')
} finally {
    if ($Report) {
        # Not piped: 5.1 hands an array of JSON on as one object.
        $known = ConvertFrom-Json -InputObject ([IO.File]::ReadAllText("$PSScriptRoot\laws.json"))
        Write-LawReport -Path $Report -Known @($known)
    }
    if (Test-Path -LiteralPath $script:Root) { Remove-Item -LiteralPath $script:Root -Recurse -Force }
}
Write-Output -InputObject "$script:Passed passed, $script:Failed failed"
exit [int]($script:Failed -gt 0)

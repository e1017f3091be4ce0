<#
.SYNOPSIS
Applies guest plans with the real engine on a simulated Windows, then breaks things.

.DESCRIPTION
Needs PowerShell 7 with curl and tar on a system without a drive C:; elsewhere it says so and does nothing. Every
world begins empty. Its mirror holds made-up bytes for every URL of the plan, and the digests of the plan, those of
members of archives among them, are replaced by theirs.
Each check is a line, `ok: NAME` or `FAILED: NAME`. A case that throws is a failure, and the next one begins.
Exit codes: 0 every check passed, 1 one failed or there was none.

.PARAMETER Plan
A rendered guest-plan.json, its workspace, or a folder of plans: their lives are played, and nothing else. Without
it, plan.json beside this script, which has every type, and all cases.

.PARAMETER Provisioners
The folder with engine and resources.

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1 -Plan workspace/guest-plan.json
#>
[CmdletBinding()]
param([string] $Plan, [string] $Provisioners, [string[]] $Case = @())
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ($PSVersionTable.PSVersion.Major -lt 7 -or [IO.Directory]::Exists('C:\')) {
    Write-Output -InputObject 'skipped: the simulation needs PowerShell 7 on a system without a drive C:'
    exit 0
}
# Whole paths, because the current folder changes.
$given = $ExecutionContext.SessionState.Path
if (-not $Provisioners) { $Provisioners = "$PSScriptRoot/../../provisioners" }
$Provisioners = [IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Provisioners))
$plans = @()
if ($Plan) {
    $Plan = $given.GetUnresolvedProviderPathFromPSPath($Plan)
    $plans = @($Plan)
    if ([IO.File]::Exists("$Plan/guest-plan.json")) {
        $plans = @("$Plan/guest-plan.json")
    } elseif ([IO.Directory]::Exists($Plan)) {
        $plans = @([IO.Directory]::GetFiles($Plan, '*.json') | Sort-Object)
    }
}
$script:Passed = 0
$script:Failed = 0
$script:World = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-$([guid]::NewGuid().ToString('N'))"
# The simulation, which stands in for engine/Windows.ps1.
$script:PlatformFile = "$PSScriptRoot/Simulated.ps1"

. "$Provisioners/engine/Tools.ps1"
. "$PSScriptRoot/Simulated.ps1"
. "$PSScriptRoot/script-paths.ps1"
. "$PSScriptRoot/world/checks.ps1"
. "$PSScriptRoot/world/mirror.ps1"
. "$PSScriptRoot/world/machine.ps1"
. "$PSScriptRoot/world/engine.ps1"
. "$PSScriptRoot/install.ps1"
. "$PSScriptRoot/laws.ps1"
. "$PSScriptRoot/cases/life-cases.ps1"
. "$PSScriptRoot/cases/download-cases.ps1"
. "$PSScriptRoot/cases/content-cases.ps1"
. "$PSScriptRoot/cases/refusal-cases.ps1"
. "$PSScriptRoot/matrix/file-breaks.ps1"
. "$PSScriptRoot/matrix/system-breaks.ps1"
. "$PSScriptRoot/matrix/matrix-cases.ps1"
. "$PSScriptRoot/node/node-world.ps1"
. "$PSScriptRoot/node/life-of-node.ps1"
. "$PSScriptRoot/node/log-cases.ps1"
. "$PSScriptRoot/node/upgrade-cases.ps1"
. "$PSScriptRoot/node/network-cases.ps1"
. "$PSScriptRoot/node/cut-cases.ps1"
. "$PSScriptRoot/node/platform-cases.ps1"
. "$PSScriptRoot/laws/fact-laws.ps1"
. "$PSScriptRoot/laws/service-laws.ps1"
. "$PSScriptRoot/laws/file-laws.ps1"
. "$PSScriptRoot/laws/handle-laws.ps1"
. "$PSScriptRoot/laws/system-laws.ps1"
. "$PSScriptRoot/laws/image-laws.ps1"
. "$PSScriptRoot/laws/step-laws.ps1"
. "$PSScriptRoot/laws/account-laws.ps1"
. "$PSScriptRoot/laws/agent-laws.ps1"
. "$PSScriptRoot/laws/update-laws.ps1"

function Test-OwnPlan {
    param([string] $Source)
    $cases = 'WholeLife', 'Check', 'Drift', 'Download', 'Redirect', 'LockedFile', 'Media', 'Member', 'ImageImport',
        'Prepare', 'TimeLimit', 'Refusal', 'Signature', 'Fact', 'RefusedFact', 'LaterFact', 'TaskFact', 'Matrix',
        'ServiceManager', 'PendingService', 'RefusedStart', 'RecoveryAction', 'FileReplacement', 'TarMember',
        'RegistryKind', 'WholeMachine', 'ProcessLife', 'MachineAnswer', 'SysprepEffect', 'UpdateOutcome',
        'StoreContent', 'DiskLaw', 'UserPackageLaw', 'PackageBeforeLaw', 'SealAgentLaw', 'SessionLaw',
        'OwnUpdateLaw', 'TaskLaw', 'PlainListenerLaw', 'UpdateAgentLaw',
        'InstallLife', 'InstallRefusal', 'NodeLife', 'StartNetwork', 'NodeLog', 'PlantedLog', 'OpenNode',
        'OpenFile', 'AccessLaw', 'NodeNetwork', 'NewAddress', 'NodeProxy',
        'ForeignWrite', 'LostRecord', 'HeldLog', 'CutSwitch', 'OverruledFirewall',
        'Upgrade', 'Clone', 'ServiceLaw', 'FirstBootLaw', 'WinrmLaw', 'AgentLaw', 'FileLaw', 'PullLaw',
        'UpdateLaw', 'SealLaw', 'LogonRightLaw', 'UserLaw', 'MetadataLaw'
    if ($Case.Count -gt 0) { $cases = $Case }
    foreach ($case in $cases) { Invoke-Case -Name $case -Block { & "Test-$case" -Source $Source } }
}

Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
$env:IMAGEGEN_SIMULATION = $script:World
foreach ($folder in 'mirror', 'C') { $null = [IO.Directory]::CreateDirectory("$($script:World)/$folder") }
# Once, and not after a question for the drive: outside Windows that question mounts the folder ./C by itself.
$null = New-PSDrive -Name 'C' -PSProvider FileSystem -Root "$($script:World)/C" -Scope Global
try {
    foreach ($file in $plans) { Invoke-Case -Name $file -Block { Test-RenderedPlan -Source $file } }
    if (-not $Plan) { Test-OwnPlan -Source "$PSScriptRoot/plan.json" }
} finally {
    [IO.Directory]::SetCurrentDirectory([IO.Path]::GetTempPath())
    Remove-PSDrive -Name 'C' -Scope Global -Force
    Remove-Item -LiteralPath $script:World -Recurse -Force
}
Write-Output -InputObject "$($script:Passed) passed, $($script:Failed) failed"
exit [int]($script:Failed -gt 0 -or $script:Passed -eq 0)

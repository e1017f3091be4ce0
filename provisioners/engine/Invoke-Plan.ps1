<#
.SYNOPSIS
Applies or tests one phase of the guest plan beside the engine.

.DESCRIPTION
The only entry point of the engine. Every script is held against its digest in the plan before it is loaded, and
the plan is refused whole before anything is changed. A plan that names signers is applied under the execution
policy AllSigned alone, and each script must have a valid signature of one of them.
One progress line per resource goes to the standard output, one JSON object with the outcome comes last.
Exit codes: 0 done, 1 a resource failed, 2 plan or scripts refused, 8 checks failed or seal without a good report.

.PARAMETER Phase
bootstrap, prepare, install, test, seal, or firstboot on a clone. On a node: node for every resource that holds for
the node's life, whatever its phase.

.PARAMETER Mode
apply brings the resources of the phase into their state; test only compares; check stops when plan and scripts
were held against their digests.
The test of phase test compares the resources of all phases but seal and firstboot and writes the report.
The test of phase node leaves out the properties that others change on a node.

.PARAMETER Plan
The guest plan. State, journal and report of the engine lie in its folder.

.PARAMETER Journal
File that gets one JSON line per resource.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.PARAMETER Report
Another place for the check report; that of phase test is written beside the plan in any case.

.PARAMETER ReportOnly
Exit 0 although checks failed: the report says so, and sealing is refused all the same.

.EXAMPLE
C:\imagegen\engine\Invoke-Plan.ps1 -Phase install -Mode apply
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory)]
    [ValidateSet('bootstrap', 'prepare', 'install', 'test', 'seal', 'firstboot', 'node')]
    [string] $Phase,
    [ValidateSet('apply', 'test', 'check')]
    [string] $Mode = 'apply',
    [string] $Plan,
    [string] $Journal,
    [string] $Platform,
    [string] $Report,
    [switch] $ReportOnly
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ("$($ExecutionContext.SessionState.LanguageMode)" -ne 'FullLanguage') {
    $text = 'imagegen: a policy runs these scripts in constrained language: sign or allow them'
    Write-Information -MessageData $text -InformationAction Continue
    exit 2
}
# Not in param: with `powershell.exe -File`, 5.1 evaluates defaults before it sets $PSScriptRoot
# (https://github.com/PowerShell/PowerShell/issues/4688).
if (-not $Plan) { $Plan = "$PSScriptRoot/../guest-plan.json" }
if (-not $Platform) { $Platform = "$PSScriptRoot/Windows.ps1" }

# Refuses a script that is not byte for byte the one that the plan was rendered with. It stands here and not in the
# module because a module that was tampered with would check itself.
function Assert-Digest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Scripts, [Parameter(Mandatory)] [string] $Root,
        [Parameter(Mandatory)] [string] $Name)
    $wanted = $Scripts.PSObject.Properties[$Name]
    if ($null -eq $wanted) { throw "$Name is no script of the plan" }
    $path = "$Root/$Name"
    if (-not [IO.File]::Exists($path)) { throw "script $Name is missing" }
    $hash = Get-FileHash -LiteralPath $path -Algorithm SHA256 -ErrorAction Stop
    $found = $hash.Hash.ToLowerInvariant()
    if ($found -cne $wanted.Value) { throw "script $Name is $found, the plan was rendered with $($wanted.Value)" }
}

# Files below a folder of the payload, by the names that a plan gives them.
function Get-ScriptName {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Root, [Parameter(Mandatory)] [string] $Folder)
    foreach ($item in Get-ChildItem -LiteralPath (Join-Path -Path $Root -ChildPath $Folder) -Force) {
        $name = "$Folder/$($item.Name)"
        if ($item.PSIsContainer) { Get-ScriptName -Root $Root -Folder $name } else { $name }
    }
}

# Every script of the plan, and no other file in the folders that hold them.
function Assert-Script {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Scripts, [Parameter(Mandatory)] [string] $Root)
    $folders = @{}
    foreach ($script in $Scripts.PSObject.Properties) {
        Assert-Digest -Scripts $Scripts -Root $Root -Name $script.Name
        $folders[$script.Name.Split('/')[0]] = $true
    }
    foreach ($name in $folders.Keys | ForEach-Object { Get-ScriptName -Root $Root -Folder $_ }) {
        if ($null -eq $Scripts.PSObject.Properties[$name]) { throw "$name is no script of the plan" }
    }
}

# Refuses scripts that none of the plan's signers has signed, and a process that would load others besides.
function Assert-Signature {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Signers, [Parameter(Mandatory)] $Scripts, [Parameter(Mandatory)] [string] $Root)
    $policy = "$(Get-ExecutionPolicy)"
    if ($policy -ne 'AllSigned') {
        throw "the plan wants signed scripts and the execution policy is $policy, start with AllSigned"
    }
    $allowed = @($Signers | ForEach-Object { $_.sha256 })
    foreach ($script in $Scripts.PSObject.Properties) {
        $path = Join-Path -Path $Root -ChildPath $script.Name
        $found = Get-AuthenticodeSignature -LiteralPath $path
        if ("$($found.Status)" -ne 'Valid') {
            throw "the signature of script $($script.Name) is $($found.Status): $($found.StatusMessage)"
        }
        $stream = New-Object -TypeName IO.MemoryStream -ArgumentList (, $found.SignerCertificate.RawData)
        $digest = (Get-FileHash -InputStream $stream -Algorithm SHA256 -ErrorAction Stop).Hash.ToLowerInvariant()
        if ($allowed -cnotcontains $digest) {
            $subject = $found.SignerCertificate.Subject
            throw "script $($script.Name) is signed by $subject ($digest), whom the plan does not name"
        }
    }
}

$Phase = $Phase.ToLowerInvariant()
$code = 2
$root = Split-Path -Path $PSScriptRoot
$folder = $root
$isLoaded = $false
try {
    $planPath = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Plan)
    $planPath = [IO.Path]::GetFullPath($planPath)
    $content = [IO.File]::ReadAllText($planPath) | ConvertFrom-Json
    # First, because it tells what is wrong with the others.
    Assert-Digest -Scripts $content.scripts -Root $root -Name 'engine/Reason.ps1'
    . "$PSScriptRoot/Reason.ps1"
    $isLoaded = $true
    Assert-Script -Scripts $content.scripts -Root $root
    $signers = $content.PSObject.Properties['signers']
    if ($null -ne $signers) { Assert-Signature -Signers $signers.Value -Scripts $content.scripts -Root $root }
    $folder = [IO.Path]::GetDirectoryName($planPath)
    $sealReport = Join-Path -Path $folder -ChildPath 'check-report.json'
    # What a clone has is no proof for sealing.
    $reports = @()
    if ($Phase -eq 'test') { $reports += $sealReport }
    if ($Report) { $reports += $Report }
    if (-not $Journal) { $Journal = Join-Path -Path $folder -ChildPath 'journal.jsonl' }
    Import-Module -Name "$PSScriptRoot/Engine.psm1" -ArgumentList $Platform, $folder, $Journal -Force
    Assert-Plan -Plan $content
    $code = 1
    if ($Mode -eq 'check') {
        $code = 0
        $result = @{ schema = 'imagegen.dev/phase-result/v1'; phase = $Phase; mode = $Mode; failed = 0 }
        $result.error = $null
    } elseif ($Mode -eq 'test') {
        $result = Test-Phase -Plan $content -Phase $Phase -Report $reports
        $code = 8 * [int]($result.failed -gt 0 -and -not $ReportOnly)
    } else {
        if ($Phase -eq 'seal') {
            $code = 8
            Assert-Report -Plan $content -Report $sealReport
            $code = 1
        }
        $result = Invoke-Phase -Plan $content -Phase $Phase -Report $sealReport
        $code = [int]($result.failed -gt 0)
    }
    if ($result.error) {
        Write-Reason -Root $folder -Source 'Invoke-Plan.ps1' -Message "phase ${Phase}: $($result.error)"
    }
    ConvertTo-Json -InputObject $result -Compress
} catch {
    $message = "phase ${Phase}: $($_.Exception.Message)"
    if ($isLoaded) {
        Write-Reason -Root $folder -Source 'Invoke-Plan.ps1' -Message $message
    } else {
        [Console]::Error.WriteLine("imagegen: $message")
    }
}
exit $code

# What a node's life needs besides the engine: joining, leaving, the next version, and what to tell of it.
# Facts come from node.conf beside the plan, abilities from the platform.
param(
    [Parameter(Mandatory)] [string] $Platform,
    [Parameter(Mandatory)] [string] $Root
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$script:Root = $Root
. "$PSScriptRoot/../engine/Tools.ps1"
. "$PSScriptRoot/Join.ps1"
. "$PSScriptRoot/Reset.ps1"
. "$PSScriptRoot/Upgrade.ps1"
. "$PSScriptRoot/Network.ps1"
. "$PSScriptRoot/Bridge.ps1"
. "$PSScriptRoot/Proxy.ps1"
. "$PSScriptRoot/Diagnosis.ps1"
. "$PSScriptRoot/Payload.ps1"
. "$PSScriptRoot/Logs.ps1"
. $Platform

# node.conf as a table of lists: a line is `name=value`, and a name may come several times.
function Get-NodeFact {
    [CmdletBinding()]
    param()
    $path = Join-Path -Path $script:Root -ChildPath 'node.conf'
    if (-not [IO.File]::Exists($path)) { throw "there is no ${path}: this machine was not made by imagegen" }
    $facts = @{}
    foreach ($line in [IO.File]::ReadAllLines($path)) {
        $name, $value = $line.Split([char[]]'=', 2)
        if ($name) { $facts[$name] = @($facts[$name] | Where-Object { $null -ne $_ }) + @($value) }
    }
    $facts
}

# Text without what could open a cluster: bootstrap tokens, bearer tokens, private keys, keys of kubeconfigs.
function Protect-Text {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    $names = 'client-key-data|password|secret|token|authorization'
    $secrets = @(
        '(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)'
        '\b[a-z0-9]{6}\.[a-z0-9]{16}\b'
        '\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*'
        "(?i)(?<=($names)[`"']?\s*[:=]\s*[`"']?)(Bearer\s+)?[^\s`"',]+"
        '(?<=://)[^/\s:@]+:[^/\s@]+(?=@)'
    )
    foreach ($secret in $secrets) { $Text = [regex]::Replace($Text, $secret, 'REDACTED') }
    $Text
}

# The scripts of this machine, which tasks run as SYSTEM, are where only administrators can put them.
function Assert-NodeFolder {
    [CmdletBinding()]
    param()
    Assert-Closed -Path @('engine', 'node', 'resources' | ForEach-Object { "$script:Root/$_" })
}

# A program of the node, where nobody but administrators can have put it.
function Invoke-NodeProgram {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [Parameter(Mandatory)] [string[]] $Arguments)
    Assert-Closed -Path $Program
    Invoke-Program -Program $Program -Arguments $Arguments
}

# kubeadm with the time that is left; what it says is told without secrets. It writes to the current drive, and
# the folder that the process is in decides which one that is. Checks by which this version refuses SYSTEM are left
# out where that is who runs it: each of its commands makes them.
function Invoke-Kubeadm {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string[]] $Arguments)
    [IO.Directory]::SetCurrentDirectory((Resolve-NativePath -Path "$($Facts.conf)"))
    # Before 1.18, `kubeadm upgrade` makes no checks and has no such option.
    $version = ConvertTo-VersionPart -Text "$($Facts.version)"
    $hasChecks = $Arguments[0] -ne 'upgrade' -or $version.core -ge [version]'1.18'
    if ($hasChecks -and $Facts.ContainsKey('refusedToSystem') -and (Test-SystemAccount)) {
        $Arguments += "--ignore-preflight-errors=$($Facts.refusedToSystem -join ',')"
    }
    $result = Invoke-NodeProgram -Program "$($Facts.kubeadm)" -Arguments $Arguments
    $text = (Protect-Text -Text $result.output).Trim()
    if ($result.exitCode -ne 0) { throw "kubeadm $($Arguments[0]) exited with $($result.exitCode): $text" }
    Write-NodeLine -Text "kubeadm $($Arguments[0]) is done"
}

# Text to whoever watches, and to the log that stays. A full disk must keep no node from its reset, and no upgrade
# from its way back.
function Write-NodeLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    Write-Information -MessageData "imagegen: $Text" -InformationAction Continue
    $folder = Join-Path -Path $script:Root -ChildPath 'state'
    $time = [DateTime]::UtcNow.ToString('yyyy-MM-ddTHH:mm:ssZ', [cultureinfo]::InvariantCulture)
    try {
        $null = [IO.Directory]::CreateDirectory($folder)
        Add-LogLine -Path "$folder/node.log" -Line "$time $Text"
    } catch {
        [Console]::Error.WriteLine("imagegen: $folder/node.log: $($_.Exception.Message)")
    }
}

# Where an operator looks who cannot sign in: the event log, and the serial port that the platform shows. One that
# fails must not hide the other, nor the reason that is told.
function Send-Alarm {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    Start-Deadline -Name 'the alarm' -Seconds 60
    try {
        Write-EventLine -Text (Protect-Text -Text $Text)
        $facts = Get-NodeFact
        if ($facts.ContainsKey('serial')) {
            Write-SerialLine -Port "$($facts.serial)" -Text "imagegen: $(Protect-Text -Text $Text)"
        }
    } catch {
        Write-NodeLine -Text "the failure could not be told elsewhere: $($_.Exception.Message)"
    }
}

# A property of an object that may lack it: $null then, where strict mode would throw.
function Get-Field {
    [CmdletBinding()]
    param([AllowNull()] $InputObject, [Parameter(Mandatory)] [string] $Name)
    if ($null -eq $InputObject) { return $null }
    $property = $InputObject.PSObject.Properties[$Name]
    if ($null -ne $property) { $property.Value }
}

# Those of the services that this machine has, in the order in which they start.
function Select-Service {
    [CmdletBinding()]
    param([string[]] $Names = @())
    @($Names | Where-Object { $null -ne (Get-ServiceConfig -Name $_) })
}

function Start-NodeService {
    [CmdletBinding()]
    param([string[]] $Names = @())
    foreach ($name in Select-Service -Names $Names) {
        Wait-ServiceState -Name $name -State 'running'
        Write-NodeLine -Text "$name is running"
    }
}

function Stop-NodeService {
    [CmdletBinding()]
    param([string[]] $Names = @())
    foreach ($name in Select-Service -Names $Names) {
        Wait-ServiceState -Name $name -State 'stopped'
        Write-NodeLine -Text "$name is stopped"
    }
}

Export-ModuleMember -Function @('Assert-Movable', 'Assert-NodeFolder', 'Clear-PreviousPayload', 'Complete-Node',
    'Complete-Upgrade', 'Expand-Payload', 'Initialize-Join', 'Join-Cluster', 'Limit-NodeLog', 'Reset-Cluster',
    'Restore-Network', 'Restore-Node', 'Save-Diagnosis', 'Send-Alarm', 'Start-FileService', 'Stop-FileService',
    'Stop-Node', 'Switch-Payload', 'Wait-Defender', 'Wait-Node', 'Write-NewerVersion')

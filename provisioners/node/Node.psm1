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
. "$PSScriptRoot/Network.ps1"
. "$PSScriptRoot/Proxy.ps1"
. "$PSScriptRoot/Diagnosis.ps1"
. "$PSScriptRoot/Payload.ps1"
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

# kubeadm with the time that is left; what it says is told without secrets. It writes to the current drive, and
# the folder that the process is in decides which one that is.
function Invoke-Kubeadm {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts, [Parameter(Mandatory)] [string[]] $Arguments,
        [scriptblock] $Meanwhile)
    [IO.Directory]::SetCurrentDirectory((Resolve-NativePath -Path "$($Facts.conf)"))
    $result = Invoke-Program -Program "$($Facts.kubeadm)" -Arguments $Arguments -Meanwhile $Meanwhile
    $text = (Protect-Text -Text $result.output).Trim()
    if ($result.exitCode -ne 0) { throw "kubeadm $($Arguments[0]) exited with $($result.exitCode): $text" }
    Write-NodeLine -Text "kubeadm $($Arguments[0]) is done"
}

# Text to whoever watches, and to the log that stays.
function Write-NodeLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    Write-Information -MessageData "imagegen: $Text" -InformationAction Continue
    $folder = Join-Path -Path $script:Root -ChildPath 'state'
    $null = [IO.Directory]::CreateDirectory($folder)
    $time = [DateTime]::UtcNow.ToString('yyyy-MM-ddTHH:mm:ssZ', [cultureinfo]::InvariantCulture)
    [IO.File]::AppendAllText("$folder/node.log", "$time $Text`n")
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

# Start type of a service, $null without the service.
function Get-StartType {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name)
    $config = Get-ServiceConfig -Name $Name
    if ($null -ne $config) { $config.startType }
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

# Defender answers some time after the start of the machine. A failure that lasts is for the comparison to tell.
function Wait-Defender {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'Defender' -Seconds $Seconds
    if ($null -eq (Get-ServiceConfig -Name 'WinDefend')) { return }
    $until = [DateTime]::UtcNow.AddSeconds($Seconds)
    while ($true) {
        try {
            $null = Get-DefenderExclusion -Kind 'process'
            return
        } catch {
            if ([DateTime]::UtcNow -ge $until) {
                Write-NodeLine -Text "Defender does not answer: $($_.Exception.Message)"
                return
            }
        }
        Start-Sleep -Seconds 1
    }
}

# What a join stands on: no join before it, nothing of one that failed, and a runtime that runs.
function Initialize-Join {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'preparing the join' -Seconds $Seconds
    if (Test-Path -LiteralPath "$($facts.conf)\kubelet.conf" -PathType Leaf) {
        throw 'this node has joined already: run Reset-Node.ps1 first'
    }
    # Of a join that failed: its kubelet holds port 10250, and kubeadm refuses to go on with its files.
    Stop-NodeService -Names 'kubelet'
    foreach ($path in @(Get-WatchLog) + @($facts.joined) + @(Get-ArgumentPath -Facts $facts)) {
        if (Test-Path -LiteralPath $path -PathType Leaf) { Remove-Item -LiteralPath $path -Force }
    }
    $null = Update-CommandLine
    Initialize-StartNetwork -Facts $facts
    Start-NodeService -Names $facts.before
}

# Files that a join adds arguments with.
function Get-ArgumentPath {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    foreach ($name in 'arguments', 'proxyFlags') {
        if ($Facts.ContainsKey($name)) { "$($Facts[$name])" }
    }
}

# Brings command lines to what was written for them, the kubelet's by kubeadm; $true when one was another.
function Update-CommandLine {
    [CmdletBinding()]
    param()
    $lines = @(& "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'join' -Platform $Platform 6>&1)
    if ($LASTEXITCODE -ne 0) { throw "command lines are not as planned: $($lines -join "`n")" }
    ("$($lines[-1])" | ConvertFrom-Json).changed -gt 0
}

# kubeadm writes the kubelet's arguments and starts it at once, but labels and taints count only when a node
# registers: its command line must be complete by then. So the service is disabled while kubeadm works, of which it
# warns, and is started here, for which it waits.
function Disable-Kubelet {
    [CmdletBinding()]
    param()
    Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
}

# However a join ended: the kubelet can be started again. With time of its own, because the join's may be over.
function Enable-Kubelet {
    [CmdletBinding()]
    param()
    Start-Deadline -Name "the kubelet's start type" -Seconds 60
    if ((Get-StartType -Name 'kubelet') -eq 'disabled') {
        Set-ServiceStart -Name 'kubelet' -StartType 'manual'
    }
}

# Starts the kubelet when its arguments stand; $true then. The one line end is the last thing that is written.
function Start-JoiningKubelet {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $path = "$($Facts.arguments)"
    if (-not (Test-Path -LiteralPath $path -PathType Leaf)) { return $false }
    if (-not (Read-NodeText -Path $path).EndsWith("`n")) { return $false }
    $null = Update-CommandLine
    Set-ServiceStart -Name 'kubelet' -StartType 'manual'
    Start-NodeService -Names 'kubelet'
    $true
}

function Join-Cluster {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Configuration, [Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the join' -Seconds $Seconds
    if (-not (Test-Path -LiteralPath $Configuration -PathType Leaf)) { throw "there is no $Configuration" }
    $path = Resolve-NativePath -Path $Configuration
    $kubelet = @{ started = $false }
    try {
        Disable-Kubelet
        Invoke-Kubeadm -Facts $facts -Arguments @('join', '--config', $path) -Meanwhile {
            if (-not $kubelet.started) { $kubelet.started = Start-JoiningKubelet -Facts $facts }
        }
    } finally {
        Enable-Kubelet
    }
}

# Why nobody started the kubelet of a join that others run.
function Get-WatchLog {
    [CmdletBinding()]
    param()
    Join-Path -Path $script:Root -ChildPath 'state/join.log'
}

# Where others run kubeadm: does in a process of its own, until its time is over, what Join-Cluster does.
function Start-Watch {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'preparing the join' -Seconds $Seconds
    $arguments = @('-Stage', 'watch', '-TimeoutSeconds', "$Seconds")
    Start-Detached -Script "$PSScriptRoot/Join-Node.ps1" -Arguments $arguments
    # The first thing that it does: without it, kubeadm must not begin.
    while ((Get-StartType -Name 'kubelet') -ne 'disabled') {
        $null = Get-TimeLeft -Doing 'waiting for Join-Node.ps1 -Stage watch to begin'
        Start-Sleep -Milliseconds 200
    }
}

function Watch-Join {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the join' -Seconds $Seconds
    try {
        Disable-Kubelet
        while (-not (Start-JoiningKubelet -Facts $facts)) {
            $null = Get-TimeLeft -Doing "waiting for $($facts.arguments)"
            Start-Sleep -Milliseconds 200
        }
    } catch {
        Write-TextFile -Path (Get-WatchLog) -Content "$($_.Exception.Message)`n"
        throw
    } finally {
        Enable-Kubelet
    }
}

# The kubelet starts by itself from now on; it has a certificate of the cluster, and says that it is well.
function Complete-Join {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the join' -Seconds $Seconds
    # After an upgrade; after a join only where nobody watched, and then it runs with another line.
    if (Update-CommandLine) { Stop-NodeService -Names 'kubelet' }
    Set-ServiceStart -Name 'kubelet' -StartType 'auto'
    Start-NodeService -Names 'kubelet'
    $credential = "$($facts.conf)\kubelet.conf"
    while (-not (Test-Path -LiteralPath $credential -PathType Leaf)) {
        $null = Get-TimeLeft -Doing "waiting for the kubelet's certificate ($credential)"
        Start-Sleep -Milliseconds 500
    }
    while ((Get-UrlText -Url 'http://127.0.0.1:10248/healthz') -cne 'ok') {
        $null = Get-TimeLeft -Doing 'waiting for the kubelet to be well (port 10248)'
        Start-Sleep -Milliseconds 500
    }
    Write-NodeLine -Text 'the kubelet is registered and well'
    Complete-Network -Facts $facts
    Start-Flannel -Facts $facts
    Start-Proxy -Facts $facts
}

# Takes a folder's content away; the folder keeps its access. Of a link the link alone: Remove-Item of 5.1 would
# walk through it.
function Clear-Folder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    if (-not (Test-Path -LiteralPath $Path -PathType Container)) { return }
    foreach ($item in @(Get-ChildItem -LiteralPath $Path -Force)) {
        if (-not $item.PSIsContainer) {
            [IO.File]::SetAttributes($item.FullName, 'Normal')
            [IO.File]::Delete($item.FullName)
            continue
        }
        if (-not ($item.Attributes -band [IO.FileAttributes]::ReparsePoint)) { Clear-Folder -Path $item.FullName }
        [IO.Directory]::Delete($item.FullName, $false)
    }
}

# Recovery actions would start a service again that is being stopped. Gives what there was, by service.
function Suspend-Recovery {
    [CmdletBinding()]
    param([string[]] $Names = @())
    $kept = @{}
    foreach ($name in Select-Service -Names $Names) {
        $binary = Get-RegistryValue -Key (Get-ServiceKey -Name $name) -Name 'FailureActions'
        if ($null -eq $binary) { continue }
        $kept[$name] = ConvertFrom-FailureAction -Hex $binary.data
        Set-ServiceFailure -Name $name -ResetSeconds 0 -Actions @()
    }
    $kept
}

# With time of its own, because that of what failed may be over.
function Restore-Recovery {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Kept)
    Start-Deadline -Name 'recovery actions' -Seconds 60
    foreach ($name in @($Kept.Keys)) {
        $failure = $Kept[$name]
        Set-ServiceFailure -Name $name -ResetSeconds $failure.resetSeconds -Actions @($failure.actions)
    }
}

# Load balancers hold endpoints, endpoints hold networks. Networks of type NAT belong to the runtime.
function Clear-HostNetwork {
    [CmdletBinding()]
    param()
    foreach ($kind in 'policylists', 'endpoints', 'networks') {
        foreach ($item in @(Invoke-HostNetwork -Method 'GET' -Path "/$kind")) {
            $id = Get-Field -InputObject $item -Name 'ID'
            if (-not $id) { continue }
            if ($kind -eq 'networks' -and (Get-Field -InputObject $item -Name 'Type') -eq 'NAT') { continue }
            $null = Invoke-HostNetwork -Method 'DELETE' -Path "/$kind/$id"
            Write-NodeLine -Text "removed from ${kind}: $id"
        }
    }
}

# Out of the cluster: what kubeadm takes away, and what it leaves behind on Windows. The engine then brings back
# what an image has.
function Reset-Cluster {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the reset' -Seconds $Seconds
    $kept = Suspend-Recovery -Names (@($facts.after) + @('kubelet'))
    try {
        Stop-NodeService -Names $facts.after
        Set-ServiceStart -Name 'kubelet' -StartType 'manual'
        Stop-NodeService -Names 'kubelet'
        Start-NodeService -Names $facts.runtime
        # Containers are removed through the runtime.
        Invoke-Kubeadm -Facts $facts -Arguments @('reset', '--force', '--cri-socket', "$($facts.endpoint)")
        Stop-Flannel -Facts $facts
        Clear-HostNetwork
        foreach ($path in $facts.empty) { Clear-Folder -Path $path }
        foreach ($path in @($facts.joined) + @(Get-ArgumentPath -Facts $facts)) {
            if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
        }
    } finally {
        Restore-Recovery -Kept $kept
    }
    Write-NodeLine -Text 'this node has left its cluster'
}

# A program that runs cannot be replaced, and shims of running pods keep those of the runtime open.
function Stop-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'stopping services' -Seconds $Seconds
    $before = @($facts.before)
    [array]::Reverse($before)
    $kept = Suspend-Recovery -Names (@($facts.after) + @('kubelet') + $before)
    try {
        Stop-NodeService -Names (@($facts.after) + @('kubelet'))
        Remove-Pod -Facts $facts
        Stop-NodeService -Names $before
    } finally {
        Restore-Recovery -Kept $kept
    }
}

# Through the runtime, which must run for it. The kubelet makes them again.
function Remove-Pod {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not $Facts.ContainsKey('crictl')) { return }
    Start-NodeService -Names $Facts.runtime
    $arguments = @('--config', "$($Facts.crictlConf)", 'rmp', '--all', '--force')
    $result = Invoke-Program -Program "$($Facts.crictl)" -Arguments $arguments
    if ($result.exitCode -ne 0) {
        throw "crictl rmp exited with $($result.exitCode): $(Protect-Text -Text $result.output)"
    }
    Write-NodeLine -Text 'pods are removed'
}

# As it ran before an upgrade that failed.
function Start-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'starting services' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    Complete-Join -Seconds $Seconds
}

# With the programs of the next version in place: the cluster's configuration for them, then the services.
function Complete-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the upgrade' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    Invoke-Kubeadm -Facts $facts -Arguments @('upgrade', 'node')
    Complete-Join -Seconds $Seconds
}

Export-ModuleMember -Function @('Assert-Replaceable', 'Complete-Join', 'Complete-Upgrade', 'Expand-Payload',
    'Initialize-Join', 'Join-Cluster', 'Reset-Cluster', 'Restore-Network', 'Restore-Payload', 'Save-Diagnosis',
    'Send-Alarm', 'Start-Node', 'Start-Watch', 'Stop-Node', 'Switch-Payload', 'Wait-Defender', 'Watch-Join')

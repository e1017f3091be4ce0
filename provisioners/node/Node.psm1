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

# Text to whoever watches.
function Write-NodeLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    Write-Information -MessageData "imagegen: $Text" -InformationAction Continue
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

# What a join stands on: no join before it, and a runtime that runs.
function Initialize-Join {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'preparing the join' -Seconds $Seconds
    if (Test-Path -LiteralPath "$($facts.conf)\kubelet.conf" -PathType Leaf) {
        throw 'this node has joined already: run Reset-Node.ps1 first'
    }
    # Left by a join that failed: kubeadm refuses to go on with the one, and the other is of that join.
    $left = "$($facts.conf)\bootstrap-kubelet.conf", (Get-WatchLog)
    foreach ($path in $left + (Get-ArgumentPath -Facts $facts)) {
        if (Test-Path -LiteralPath $path -PathType Leaf) { Remove-Item -LiteralPath $path -Force }
    }
    $null = Update-CommandLine
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

# Takes a folder's content away; the folder keeps its access.
function Clear-Folder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    if (Test-Path -LiteralPath $Path -PathType Container) {
        Get-ChildItem -LiteralPath $Path -Force | Remove-Item -Recurse -Force
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
    Stop-NodeService -Names $facts.after
    Set-ServiceStart -Name 'kubelet' -StartType 'manual'
    Stop-NodeService -Names 'kubelet'
    Start-NodeService -Names $facts.runtime
    # Containers are removed through the runtime.
    Invoke-Kubeadm -Facts $facts -Arguments @('reset', '--force', '--cri-socket', "$($facts.endpoint)")
    Stop-Flannel -Facts $facts
    Clear-HostNetwork
    foreach ($path in $facts.empty) { Clear-Folder -Path $path }
    $left = @('kubelet.conf', 'bootstrap-kubelet.conf', 'pki\ca.crt' | ForEach-Object { "$($facts.conf)\$_" })
    foreach ($path in $left + (Get-ArgumentPath -Facts $facts)) {
        if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
    }
}

# A plan of another machine or of an older Kubernetes is no upgrade; minors are taken one at a time.
function Assert-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $From, [Parameter(Mandatory)] $To)
    foreach ($name in 'schema', 'target', 'windows') {
        if ($From.$name -cne $To.$name) { throw "the payload's $name is $($To.$name), this node's $($From.$name)" }
    }
    $old = [version]$From.kubernetes
    $new = [version]$To.kubernetes
    if ($new -lt $old -or $new.Major -ne $old.Major -or $new.Minor -gt $old.Minor + 1) {
        throw "from Kubernetes $old to $new is no upgrade of at most one minor version"
    }
}

# Unpacks a payload whose digest is the expected one, and puts it in the place of the one in use, which is kept in
# the folder `previous`.
function Install-Payload {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Payload, [Parameter(Mandatory)] [string] $Sha256)
    $found = Get-Digest -Path $Payload
    if ($found -cne $Sha256.ToLowerInvariant()) { throw "digest of $Payload is $found, expected is $Sha256" }
    Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
    $next = Join-Path -Path $script:Root -ChildPath 'next'
    $previous = Join-Path -Path $script:Root -ChildPath 'previous'
    foreach ($path in $next, $previous) {
        if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Recurse -Force }
        $null = [IO.Directory]::CreateDirectory($path)
    }
    [IO.Compression.ZipFile]::ExtractToDirectory((Resolve-NativePath -Path $Payload), $next)
    $plans = foreach ($folder in $script:Root, $next) {
        [IO.File]::ReadAllText("$folder/guest-plan.json") | ConvertFrom-Json
    }
    Assert-Upgrade -From $plans[0] -To $plans[1]
    # By the digest that was given with the payload: signed scripts could not start to lay them.
    foreach ($resource in @($plans[1].resources | Where-Object { $_.type -eq 'certificate' })) {
        Add-StoreCertificate -Store $resource.properties.store -Content $resource.properties.content
    }
    foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
        Move-Item -LiteralPath "$($script:Root)/$name" -Destination "$previous/$name"
        Move-Item -LiteralPath "$next/$name" -Destination "$($script:Root)/$name"
    }
    Remove-Item -LiteralPath $next -Recurse -Force
    Write-NodeLine -Text "the plan is of Kubernetes $($plans[1].kubernetes) now"
}

# A program that runs cannot be replaced.
function Stop-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'stopping services' -Seconds $Seconds
    $names = @($facts.after) + @('kubelet')
    for ($i = $facts.before.Count - 1; $i -ge 0; $i--) { $names += $facts.before[$i] }
    Stop-NodeService -Names $names
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

Export-ModuleMember -Function @('Complete-Join', 'Complete-Upgrade', 'Initialize-Join', 'Install-Payload',
    'Join-Cluster', 'Reset-Cluster', 'Restore-Network', 'Save-Diagnosis', 'Start-Watch', 'Stop-Node', 'Watch-Join')

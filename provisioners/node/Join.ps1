# Into the cluster: kubeadm and the kubelet in their order. Loaded by Node.psm1.

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
    # Of a join that failed: its kubelet holds port 10250, and kubeadm refuses to go on with its files. The kubelet
    # ends with an error, after which recovery actions would start it again a minute later.
    $kept = Suspend-Recovery -Names 'kubelet'
    try { Stop-NodeService -Names 'kubelet' } finally { Restore-Recovery -Kept $kept }
    Start-Deadline -Name 'preparing the join' -Seconds $Seconds
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

# Whether the watch has begun within some seconds: the first thing that it does is to disable the kubelet.
function Wait-Watch {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ((Get-StartType -Name 'kubelet') -ne 'disabled') {
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) { return $false }
        Start-Sleep -Milliseconds 200
    }
    $true
}

# The task by which the watch starts where a security rule blocks processes that WMI makes.
function Get-WatchTask {
    [CmdletBinding()]
    param()
    'imagegen-watch'
}

function Remove-WatchTask {
    [CmdletBinding()]
    param()
    if ($null -ne (Get-Task -Name (Get-WatchTask))) { Remove-Task -Name (Get-WatchTask) }
}

# Where others run kubeadm: does in a process of its own, until its time is over, what Join-Cluster does. Without
# it, kubeadm must not begin.
function Start-Watch {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'preparing the join' -Seconds $Seconds
    $file = "$PSScriptRoot/Join-Node.ps1"
    $arguments = @('-Stage', 'watch', '-TimeoutSeconds', "$Seconds")
    $most = [Math]::Min(60, $Seconds)
    try {
        Start-Detached -Script $file -Arguments $arguments
        if (Wait-Watch -Seconds $most) { return }
        $why = "it has not begun within $most s"
    } catch {
        $why = $_.Exception.Message
    }
    Write-NodeLine -Text "the watch starts as a task, not through WMI: $why"
    $words = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', (Get-ChildPolicy), '-File', $file)
    $line = Join-Argument -Arguments ($words + $arguments)
    $task = @{ Program = (Get-PowerShellPath); ArgumentLine = $line; Trigger = 'none'; Enabled = $true }
    Set-Task -Name (Get-WatchTask) @task
    Start-Task -Name (Get-WatchTask)
    if (-not (Wait-Watch -Seconds $most)) { throw 'Join-Node.ps1 -Stage watch does not begin' }
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
    Remove-WatchTask
    Complete-Network -Facts $facts
    Start-Flannel -Facts $facts
    Start-Proxy -Facts $facts
}

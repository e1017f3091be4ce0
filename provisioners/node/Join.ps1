# Into the cluster: kubeadm and the kubelet in their order. Loaded by Node.psm1.

# Defender answers some time after the start of the machine. A failure that lasts is for the comparison to tell.
function Wait-Defender {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'Defender' -Seconds $Seconds
    if (-not (Test-Defender)) { return }
    # No time of day: the clock of a machine that has just started is set while this waits.
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            $null = Get-DefenderExclusion -Kind 'process'
            return
        } catch {
            if ($clock.Elapsed.TotalSeconds -ge $Seconds) {
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
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    if ($null -ne $kubelet -and $kubelet.state -ne 'stopped') {
        $kept = Suspend-Recovery -Names 'kubelet'
        try { Stop-NodeService -Names 'kubelet' } finally { Restore-Recovery -Kept $kept }
        Start-Deadline -Name 'preparing the join' -Seconds $Seconds
    }
    foreach ($path in @(Get-CompletionMark) + @($facts.joined) + @(Get-ArgumentPath -Facts $facts)) {
        if (Test-Path -LiteralPath $path -PathType Leaf) { Remove-Item -LiteralPath $path -Force }
    }
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

# kubeadm starts the kubelet, which reads the arguments that kubeadm wrote.
function Join-Cluster {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Configuration, [Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the join' -Seconds $Seconds
    if (-not (Test-Path -LiteralPath $Configuration -PathType Leaf)) { throw "there is no $Configuration" }
    Invoke-Kubeadm -Facts $facts -Arguments @('join', '--config', (Resolve-NativePath -Path $Configuration))
}

# Where the kubelet says that it is well, as kubeadm looks for it in the configuration that it wrote
# (https://github.com/kubernetes/kubernetes/pull/125265). Nothing where port 0 keeps it from saying so.
function Get-HealthUrl {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $path = "$($Facts.kubeletRoot)\config.yaml"
    $text = ''
    if (Test-Path -LiteralPath $path -PathType Leaf) { $text = Read-NodeText -Path $path }
    $port = "$(Select-YamlValue -Text $text -Key 'healthzPort')"
    if ($port -ceq '0') { return }
    if ($port -notmatch '^[0-9]+$') { $port = '10248' }
    $address = "$(Select-YamlValue -Text $text -Key 'healthzBindAddress')"
    $isPlain = $address -match '^[0-9A-Fa-f.:]+$'
    if (-not $isPlain -or @('0.0.0.0', '::') -ccontains $address) { $address = '127.0.0.1' }
    if ($address.Contains(':')) { $address = "[$address]" }
    "http://${address}:$port/healthz"
}

# The kubelet has a certificate of the cluster, and says that it is well.
function Wait-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the join' -Seconds $Seconds
    Start-NodeService -Names 'kubelet'
    $credential = "$($facts.conf)\kubelet.conf"
    while (-not (Test-Path -LiteralPath $credential -PathType Leaf)) {
        $null = Get-TimeLeft -Doing "waiting for the kubelet's certificate ($credential)"
        Start-Sleep -Milliseconds 500
    }
    $url = "$(Get-HealthUrl -Facts $facts)"
    while ($url -and (Get-UrlText -Url $url) -cne 'ok') {
        $null = Get-TimeLeft -Doing "waiting for the kubelet to be well ($url)"
        Start-Sleep -Milliseconds 500
    }
    Write-NodeLine -Text 'the kubelet is registered and well'
    Complete-Node -Seconds $Seconds
}

# While this file is there, the task that completes a node leaves it alone.
function Get-CompletionMark {
    [CmdletBinding()]
    param()
    Join-Path -Path $script:Root -ChildPath 'state/completed'
}

# A mutex that SYSTEM made gives administrators no right to take it
# (https://github.com/litedb-org/LiteDB/issues/1658): where the task has it, a person's join asks again.
function Open-CompletionMutex {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'completing the node' -Seconds $Seconds
    while ($true) {
        try {
            return New-Object -TypeName Threading.Mutex -ArgumentList $false, 'Global\imagegen-complete'
        } catch {
            if ($_.Exception.GetBaseException() -isnot [UnauthorizedAccessException]) { throw }
        }
        $null = Get-TimeLeft -Doing 'waiting for another process that completes this node'
        Start-Sleep -Milliseconds 500
    }
}

# Agents with access to the host do all of this, and the facts name nothing then.
function Complete-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    if (-not (Test-Path -LiteralPath "$($facts.conf)\kubelet.conf" -PathType Leaf)) { return }
    # One at a time: the task's, and a person's or a join's. One that was ended left it to this one.
    $mutex = Open-CompletionMutex -Seconds $Seconds
    $isFree = $true
    try { $isFree = $mutex.WaitOne(1000 * $Seconds) } catch [Threading.AbandonedMutexException] { $isFree = $true }
    if (-not $isFree) { throw 'another process completes this node and does not end' }
    try {
        Start-Deadline -Name 'completing the node' -Seconds $Seconds
        $mark = Get-CompletionMark
        if (-not (Test-Path -LiteralPath $mark -PathType Leaf)) { Initialize-StartNetwork -Facts $facts }
        Complete-Network -Facts $facts
        Start-Flannel -Facts $facts
        Start-Proxy -Facts $facts
        Write-TextFile -Path $mark -Content "completed`n"
    } finally {
        $null = $mutex.ReleaseMutex()
        $mutex.Dispose()
    }
}

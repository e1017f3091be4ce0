# An upgrade: services around it, and the payload of another version in the place of the one in use, and back.
# Loaded by Node.psm1.

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
        Stop-Flannel -Facts $facts
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
    $result = Invoke-NodeProgram -Program "$($Facts.crictl)" -Arguments $arguments
    if ($result.exitCode -ne 0) {
        throw "crictl rmp exited with $($result.exitCode): $(Protect-Text -Text $result.output)"
    }
    Write-NodeLine -Text 'pods are removed'
}

# With the programs of the next version in place: the cluster's configuration for them, then the services.
function Complete-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    $facts = Get-NodeFact
    Start-Deadline -Name 'the upgrade' -Seconds $Seconds
    Start-NodeService -Names $facts.before
    $arguments = @('upgrade', 'node')
    # kubeadm keeps no patches of the join, and the kubelet's configuration would come without them.
    $patches = "$($facts.conf)\patches"
    if (Test-Path -LiteralPath $patches -PathType Container) { $arguments += @('--patches', $patches) }
    Invoke-Kubeadm -Facts $facts -Arguments $arguments
    Wait-Node -Seconds $Seconds
}

# The plan that was in use, and a node that runs with it. Gives what became of it.
function Restore-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Run, [Parameter(Mandatory)] [bool] $Switched,
        [Parameter(Mandatory)] [int] $Seconds)
    try {
        if ($Switched) { Restore-Payload }
        $null = & "$PSScriptRoot/../engine/Invoke-Plan.ps1" -Phase 'node' -Platform $Run.platform 6>&1
        if ($LASTEXITCODE -ne 0) { throw 'the plan that was in use could not be applied again' }
        Start-Deadline -Name 'starting services' -Seconds $Seconds
        $facts = Get-NodeFact
        Start-NodeService -Names $facts.before
        Wait-Node -Seconds $Seconds
        'the plan that was in use is back'
    } catch {
        "not restored: $($_.Exception.Message)"
    }
}

# Says whether the kubelet is newer than the plan, as after an upgrade by Kubernetes' own steps.
function Write-NewerVersion {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'the version of the kubelet' -Seconds $Seconds
    $facts = Get-NodeFact
    if (-not (Test-Path -LiteralPath "$($facts.kubelet)" -PathType Leaf)) { return }
    $planned = ([IO.File]::ReadAllText("$($script:Root)/guest-plan.json") | ConvertFrom-Json).kubernetes
    $result = Invoke-NodeProgram -Program "$($facts.kubelet)" -Arguments @('--version')
    if ("$($result.output)" -notmatch 'v([0-9]+\.[0-9]+\.[0-9][^\s]*)') { return }
    $found = $Matches[1]
    $new = ConvertTo-VersionPart -Text $found
    $old = ConvertTo-VersionPart -Text $planned
    if ($new.core -le $old.core) { return }
    $text = "the kubelet is $found, newer than the plan ($planned): "
    Write-NodeLine -Text ($text + "Upgrade-Node.ps1 with the payload of $found adopts it")
}

# Puts back what a switch has moved; what came is in `next` again. A part that had not been moved yet is where it
# was. This is also the text of a task, which has no other command of this project.
$script:Return = {
    foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
        $before = "$script:Root/previous/$name"
        $place = "$script:Root/$name"
        if (-not (Test-Path -LiteralPath $before)) { continue }
        if (Test-Path -LiteralPath $place) {
            Move-Item -LiteralPath $place -Destination "$script:Root/next/$name" -ErrorAction Stop
        }
        Move-Item -LiteralPath $before -Destination $place -ErrorAction Stop
    }
}

# Puts back what Assert-Movable has moved aside. What is kept then is of the upgrade before: it stays where it is.
$script:Back = {
    foreach ($name in 'engine', 'node', 'resources') {
        $place = "$script:Root/$name"
        if ((Test-Path -LiteralPath $place) -or -not (Test-Path -LiteralPath "$place.aside")) { continue }
        Move-Item -LiteralPath "$place.aside" -Destination $place -ErrorAction Stop
    }
}

# For a machine that stops between two moves: without its folders no script of the node would start. The task of
# the next start of Windows needs none of them, and tries again while another program holds one. A machine that
# takes no task is upgraded all the same.
function Register-Return {
    [CmdletBinding()]
    param([switch] $Aside)
    $text = "`$script:Root = '$script:Root'`nforeach (`$try in 1..240) {`ntry {`n$script:Return`nbreak`n"
    $text += "} catch { Start-Sleep -Milliseconds 500 }`n}"
    if ($Aside) { $text = $text.Replace("$script:Return", "$script:Back") }
    # In the task and no file: where a policy runs signed scripts alone, it would refuse one that is written here.
    $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($text))
    $line = "-NoProfile -NonInteractive -EncodedCommand $encoded"
    $start = @{ Program = (Get-PowerShellPath); ArgumentLine = $line; Trigger = 'startup'; Enabled = $true }
    try {
        Set-Task -Name 'imagegen-return' @start
    } catch {
        Write-NodeLine -Text "no task would bring the scripts back after a power cut: $($_.Exception.Message)"
    }
}

function Unregister-Return {
    [CmdletBinding()]
    param()
    if ($null -ne (Get-Task -Name 'imagegen-return')) { Remove-Task -Name 'imagegen-return' }
}

function Move-Payload {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $From, [Parameter(Mandatory)] [string] $To)
    $null = [IO.Directory]::CreateDirectory($To)
    foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
        if (-not (Test-Path -LiteralPath "$From/$name")) { continue }
        Invoke-FileAction -Action { Move-Item -LiteralPath "$From/$name" -Destination "$To/$name" }
    }
}

# Takes away what the upgrade before has kept: an upgrade that fails must not put that in place.
function Clear-PreviousPayload {
    [CmdletBinding()]
    param()
    Clear-Folder -Path (Get-PayloadFolder -Name 'previous')
}

# Puts the unpacked payload in the place of the one in use, which is kept in the folder `previous`.
function Switch-Payload {
    [CmdletBinding()]
    param()
    $next = Get-PayloadFolder -Name 'next'
    $plan = [IO.File]::ReadAllText("$next/guest-plan.json") | ConvertFrom-Json
    # By the digest that was given with the payload: signed scripts could not start to lay them.
    foreach ($resource in @($plan.resources | Where-Object { $_.type -eq 'certificate' })) {
        Add-StoreCertificate -Store $resource.properties.store -Content $resource.properties.content
    }
    Register-Return
    Move-Payload -From $script:Root -To (Get-PayloadFolder -Name 'previous')
    Move-Payload -From $next -To $script:Root
    Unregister-Return
    Write-NodeLine -Text "the plan is of Kubernetes $($plan.kubernetes) now"
}

# The machine may stop on this way, too. With nothing left to move the task does nothing, so that one that stays
# must not keep the node down.
function Restore-Payload {
    [CmdletBinding()]
    param()
    Register-Return
    Invoke-FileAction -Action $script:Return
    try {
        Unregister-Return
    } catch {
        Write-NodeLine -Text "the task imagegen-return stays: $($_.Exception.Message)"
    }
    Write-NodeLine -Text 'the plan that was in use is in its place again'
}

# A node's life on the simulated Windows. Loaded by run.ps1.

function Test-NodeLife {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $conf = "$world/C/etc/kubernetes"
    $join = "C:\k\kubeadm.exe join --config $conf/join-config.yaml"
    $secret = 'token: abcdef.0123456789abcdef'
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'a fresh node has not drifted' -Run $run -Code 0

    # Left by another join: not taken for what this one writes.
    $flags = "$world/C/var/lib/kubelet/kubeadm-flags.env"
    $null = [IO.Directory]::CreateDirectory("$world/C/var/lib/kubelet")
    [IO.File]::WriteAllText($flags, "KUBELET_KUBEADM_ARGS=`"--old`"`n")
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'arguments that kubeadm wrote are no drift' -Run $run -Code 0
    [IO.File]::WriteAllText("$conf/join-config.yaml", $secret)
    Assert-Run -Name 'a join that fails' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1
    $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    Assert-That -Name 'a join that failed says why' -Holds $told.Contains('Join-Node: ') -Detail $told
    $told = Get-Simulation -Area 'os' -Name 'event'
    Assert-That -Name 'and says it in the event log' -Holds ($null -ne $told) -Detail $told
    Assert-Kubelet -Name 'a join that failed' -State 'stopped'
    # What a failed kubeadm leaves: its preflight refuses the file and the port of a kubelet that runs.
    $null = [IO.Directory]::CreateDirectory("$conf/pki")
    [IO.File]::WriteAllText("$conf/pki/ca.crt", 'old')
    Set-ServiceConfig -Name 'kubelet' -Change @{ state = 'running' }
    $there = [IO.File]::Exists("$conf/join-config.yaml")
    Assert-That -Name 'the secret is gone after a failure' -Holds (-not $there)

    $more = '--node-labels=a=b --register-with-taints=c:NoSchedule --x=C:\d "e"'
    $played = @{ exitCode = 0; output = $secret; creates = 'C:\etc\kubernetes\kubelet.conf' }
    $quoted = $more.Replace('\', '\\').Replace('"', '\"')
    $played.flags = "KUBELET_KUBEADM_ARGS=`"$quoted`"`n"
    Set-Simulation -Area 'programs' -Name $join -Value $played
    # The cluster gives its kubelets another port.
    [IO.File]::WriteAllText("$world/C/var/lib/kubelet/config.yaml", "healthzPort: 10348`n")
    Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10248/healthz' -Value $null
    Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10348/healthz' -Value 'ok'
    [IO.File]::WriteAllText("$conf/join-config.yaml", $secret)
    $run = Invoke-NodeScript -World $world -Name 'Join-Node'
    Assert-Run -Name 'a node joins' -Run $run -Code 0 -Text 'the kubelet is registered and well'
    $left = [IO.File]::Exists("$conf/pki/ca.crt")
    Assert-That -Name 'the authority of the failed join is gone' -Holds (-not $left)
    Assert-That -Name 'no secret is told' -Holds (-not $run.text.Contains('0123456789abcdef')) -Detail $run.text
    $there = [IO.File]::Exists("$conf/join-config.yaml")
    Assert-That -Name 'the secret is gone after a join' -Holds (-not $there)
    Assert-Kubelet -Name 'a node that joined' -State 'running'
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'a node that joined has not drifted' -Run $run -Code 0
    Assert-Run -Name 'no second join' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1

    [IO.File]::WriteAllText("$world/C/var/log/kubelet/kubelet.log", $secret)
    $with = @{ Destination = "$world/C/diagnosis.zip" }
    $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
    Assert-Run -Name 'a diagnosis is made' -Run $run -Code 0
    [IO.Compression.ZipFile]::ExtractToDirectory("$world/C/diagnosis.zip", "$world/C/diagnosis")
    $log = [IO.File]::ReadAllText("$world/C/diagnosis/log/kubelet/kubelet.log")
    Assert-That -Name 'a diagnosis tells no token' -Holds ($log -ceq 'token: REDACTED') -Detail $log

    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
    foreach ($name in 'L2Bridge', 'NAT') {
        Set-Simulation -Area 'networks' -Name $name -Value @{ ID = $name; Name = $name; Type = $name }
    }
    Set-Simulation -Area 'endpoints' -Name 'e1' -Value @{ ID = 'e1'; Name = 'e1'; Type = 'L2Bridge' }
    [IO.File]::WriteAllText("$world/C/run/flannel/subnet.env", 'x')
    Assert-Run -Name 'a node is reset' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    Step-Simulation -Moment 'minute'
    $left = @(Invoke-HostNetwork -Method 'GET' -Path '/networks' | ForEach-Object { $_.Name })
    Assert-That -Name 'networks of pods are gone' -Holds ($left -notcontains 'L2Bridge') -Detail $left
    Assert-That -Name 'networks of the runtime stay' -Holds ($left -contains 'NAT') -Detail $left
    $left = @(Invoke-HostNetwork -Method 'GET' -Path '/endpoints')
    Assert-That -Name 'endpoints are gone' -Holds ($left.Count -eq 0) -Detail $left
    foreach ($file in "$conf/kubelet.conf", "$world/C/run/flannel/subnet.env") {
        Assert-That -Name "a reset removes $file" -Holds (-not [IO.File]::Exists($file))
    }
    Assert-Kubelet -Name 'a node that was reset' -State 'stopped'
    Test-WaitingReset -World $world
    Test-SystemJoin -World $world -Join $join

    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    $newer = @{ exitCode = 0; output = 'Kubernetes v9.9.9' }
    Set-Simulation -Area 'programs' -Name 'C:\k\kubelet.exe --version' -Value $newer
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'a kubelet that is newer is told' -Run $run -Code 8 -Text 'the kubelet is 9.9.9, newer'
    $run = Invoke-NodeScript -World $world -Name 'Test-Node' -With @{ Format = 'json' }
    Assert-Run -Name 'drift is told as JSON' -Run $run -Code 8 -Text 'kubelet/program'
    Assert-Run -Name 'no join after drift' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 8
}

# A restart that is due keeps features from coming back: the reset is done after it. A file that is held for a
# moment goes all the same.
function Test-WaitingReset {
    param([string] $World)
    [IO.File]::WriteAllText("$World/C/run/flannel/subnet.env", 'x')
    Set-Simulation -Area 'files' -Name 'subnet.env' -Value 'held 2'
    Set-Simulation -Area 'features' -Name 'Containers' -Value $null
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    $run = Invoke-NodeScript -World $World -Name 'Reset-Node'
    Assert-Run -Name 'a reset that waits for a restart' -Run $run -Code 3010 -Text 'waits for a restart'
    $left = [IO.File]::Exists("$World/C/run/flannel/subnet.env")
    Assert-That -Name 'what is held for a moment is removed' -Holds (-not $left)
    Restart-World -World $World
    $run = Invoke-NodeScript -World $World -Name 'Reset-Node'
    Assert-Run -Name 'a reset that brings a feature back' -Run $run -Code 3010
    Restart-World -World $World
    Assert-Run -Name 'the last turn of it' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
}

# A kubeadm that asks for the groups of its user is told to leave that check out where SYSTEM runs it.
function Test-SystemJoin {
    param([string] $World, [string] $Join)
    [IO.File]::AppendAllText("$World/C/imagegen/node.conf", "`nrefusedToSystem=IsPrivilegedUser")
    $done = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
    Set-Simulation -Area 'programs' -Name "$Join --ignore-preflight-errors=IsPrivilegedUser" -Value $done
    Set-Simulation -Area 'programs' -Name $Join -Value @{ exitCode = 1; output = 'IsPrivilegedUser' }
    $config = "$World/C/etc/kubernetes/join-config.yaml"
    [IO.File]::WriteAllText($config, 'x')
    $run = Invoke-NodeScript -World $World -Name 'Join-Node'
    Assert-Run -Name 'an administrator leaves no check out' -Run $run -Code 1
    Set-Simulation -Area 'os' -Name 'system' -Value 'yes'
    [IO.File]::WriteAllText($config, 'x')
    # In a cluster whose kubelets say elsewhere that they are well.
    $null = [IO.Directory]::CreateDirectory("$World/C/var/lib/kubelet")
    $text = "healthzBindAddress: ::1`nhealthzPort: 10348`n"
    [IO.File]::WriteAllText("$World/C/var/lib/kubelet/config.yaml", $text)
    Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10248/healthz' -Value $null
    Set-Simulation -Area 'pages' -Name 'http://[::1]:10348/healthz' -Value 'ok'
    Assert-Run -Name 'SYSTEM joins' -Run (Invoke-NodeScript -World $World -Name 'Join-Node') -Code 0
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    $done = @{ exitCode = 0; output = ''; creates = '' }
    Set-Simulation -Area 'programs' -Name "$reset --ignore-preflight-errors=IsPrivilegedUser" -Value $done
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 1; output = 'IsPrivilegedUser' }
    Assert-Run -Name 'SYSTEM resets' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
    Set-Simulation -Area 'os' -Name 'system' -Value $null
}

# The first start of a clone. The platform has renamed the built-in administrator, gave it to its customer, or left
# an account of the build; the key of the build's listener goes in any case.
function Test-Clone {
    param([string] $Source)
    foreach ($kind in 'customer', 'gone', 'left') {
        $world = New-InstalledWorld -Source $Source
        Remove-WinrmListener -Transport 'HTTPS'
        New-WinrmListener -Transport 'HTTPS'
        $users = @{ customer = 'present'; gone = $null; left = 'present' }
        Set-Simulation -Area 'users' -Name 'packer' -Value $users[$kind]
        if ($kind -eq 'customer') { Set-Simulation -Area 'administrators' -Name 'packer' -Value '500' }
        Assert-Run -Name "a clone: $kind" -Run (Invoke-NodeScript -World $world -Name 'Initialize-Clone') -Code 0
        $expected = @{ customer = 'present'; gone = 'absent'; left = 'disabled' }[$kind]
        $found = Get-UserState -Name 'packer'
        Assert-That -Name "a clone: $kind, the account" -Holds ($found -eq $expected) -Detail $found
        $left = Get-Simulation -Area 'keys' -Name 'A1B2'
        Assert-That -Name "a clone: $kind, no private key" -Holds ($null -eq $left) -Detail $left
        $left = Test-WinrmListener -Transport 'HTTPS'
        Assert-That -Name "a clone: $kind, no listener" -Holds (-not $left)
    }
    $world = New-InstalledWorld -Source $Source
    Set-Simulation -Area 'fails' -Name 'Get-UserState' -Value 'yes'
    Assert-Run -Name 'a clone that fails' -Run (Invoke-NodeScript -World $world -Name 'Initialize-Clone') -Code 1
    $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    $reason = 'Initialize-Clone: the first boot of this clone failed, so it does not join: firstboot/user'
    Assert-That -Name 'a clone that fails says of what' -Holds $told.Contains($reason) -Detail $told
}

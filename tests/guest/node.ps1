# A node's life on the simulated Windows. Loaded by run.ps1.

# One run of a script of the node: its exit code and all of its text.
function Invoke-NodeScript {
    param([string] $World, [string] $Name, [hashtable] $With = @{})
    $With.Platform = "$PSScriptRoot/Simulated.ps1"
    $lines = @(& "$World/C/imagegen/node/$Name.ps1" @With 6>&1)
    @{ code = $LASTEXITCODE; text = ($lines -join "`n") }
}

# A machine with what node.conf says, and a kubeadm that does what it is told.
function New-NodeWorld {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    $facts = @('version=1.36.0', 'kubeadm=C:\k\kubeadm.exe', 'kubelet=C:\k\kubelet.exe', 'runtime=containerd')
    $facts += @('endpoint=npipe:////./pipe/x', 'conf=C:\etc\kubernetes', 'kubeletRoot=C:\var\lib\kubelet')
    $facts += @('arguments=C:\var\lib\kubelet\kubeadm-flags.env')
    $facts += @('proxyConf=C:\var\lib\kube-proxy\kubeconfig.conf', 'log=C:\var\log', 'empty=C:\run\flannel')
    $facts += @('before=containerd', 'after=kube-proxy', 'joined=C:\etc\kubernetes\kubelet.conf')
    $facts += @('joined=C:\etc\kubernetes\bootstrap-kubelet.conf', 'joined=C:\etc\kubernetes\pki\ca.crt')
    [IO.File]::WriteAllText("$world/C/imagegen/node.conf", ($facts -join "`n"))
    foreach ($folder in 'etc/kubernetes', 'run/flannel', 'var/log/kubelet') {
        $null = [IO.Directory]::CreateDirectory("$world/C/$folder")
    }
    Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10248/healthz' -Value 'ok'
    # The kubelet ends with an error when it is stopped, and would be started again a minute later.
    Set-ServiceFailure -Name 'kubelet' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    Set-ServiceConfig -Name 'kubelet' -Change @{ stopsWithError = $true }
    $world
}

function Assert-Kubelet {
    param([string] $Name, [string] $State)
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    $found = "$($kubelet.startType) $($kubelet.state) $($kubelet.commandLine)"
    $wanted = "auto $State C:\k\kubelet.exe --windows-service"
    Assert-That -Name "${Name}: the kubelet is $wanted" -Holds ($found -ceq $wanted) -Detail $found
}

# Agents that reach the host through wins start in the network nat, whose addresses Windows chooses.
function Test-StartNetwork {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $more = "`nstartNetwork=C:\k\cni\0-containerd-nat.json`ncniConf=C:\etc\cni\net.d"
    [IO.File]::AppendAllText("$world/C/imagegen/node.conf", $more)
    Set-Simulation -Area 'networks' -Name 'nat' -Value $null
    Write-TextFile -Path 'C:\k\cni\0-containerd-nat.json' -Content '{"a":"@NAT_NETWORK@","b":"@NAT_GATEWAY@"}'
    # What Test-Node compares is made before, as an image has it.
    Assert-Run -Name 'a node with nat' -Run (Invoke-Engine -World $world -Phase 'node') -Code 0
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 30 }
    Assert-Run -Name 'the network that agents start in' -Run $run -Code 0 -Text 'start in the network nat'
    $found = [IO.File]::ReadAllText("$world/C/etc/cni/net.d/0-containerd-nat.json")
    $holds = $found -ceq '{"a":"172.20.0.0/20","b":"172.20.0.1"}'
    Assert-That -Name 'its configuration has the addresses of Windows' -Holds $holds -Detail $found
}

# Logs are emptied in place when they are large, and go when they are old.
function Test-NodeLog {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $log = "$world/C/var/log/kubelet/kubelet.log"
    $old = "$world/C/var/log/kubelet/kubelet.exe.log.INFO.20200101"
    $pod = "$world/C/var/log/pods/x.log"
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($pod))
    # What a link in the folder of logs leads to is somebody else's.
    $away = "$world/C/away/old.txt"
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($away))
    [IO.File]::WriteAllText($away, 'x')
    [IO.File]::SetLastWriteTimeUtc($away, [DateTime]::UtcNow.AddDays(-40))
    $null = New-Item -ItemType SymbolicLink -Path "$world/C/var/log/away" -Value "$world/C/away"
    foreach ($turn in 1, 2) {
        [IO.File]::WriteAllText($log, "$turn" * 2097152)
        [IO.File]::WriteAllText($pod, 'x' * 2097152)
        [IO.File]::WriteAllText($old, 'x')
        [IO.File]::SetLastWriteTimeUtc($old, [DateTime]::UtcNow.AddDays(-40))
        $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Assert-Run -Name "logs are limited, $turn" -Run $run -Code 0
        $size = [IO.FileInfo]::new($log).Length
        Assert-That -Name "a large log is emptied, $turn" -Holds ($size -eq 0) -Detail $size
        $copy = [IO.File]::ReadAllText("$log.1")
        $holds = $copy.StartsWith("$turn") -and $copy.Length -eq 2097152
        Assert-That -Name "and copied before, $turn" -Holds $holds -Detail $copy.Length
        Assert-That -Name "an old log goes, $turn" -Holds (-not [IO.File]::Exists($old))
        Assert-That -Name "logs of pods stay, $turn" -Holds ([IO.FileInfo]::new($pod).Length -gt 0)
    }
    Assert-That -Name 'the copy before is kept' -Holds ([IO.File]::ReadAllText("$log.2").StartsWith('1'))
    Assert-That -Name 'what is behind a link stays' -Holds ([IO.File]::Exists($away))
}

# What a pod can put into the folder of logs that it mounts. Each log is larger than the limit.
function Test-PlantedLog {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $folder = "$world/C/var/log/kubelet"
    $away = "$world/C/away"
    $null = [IO.Directory]::CreateDirectory($away)
    foreach ($name in 'one', 'two', 'three') { [IO.File]::WriteAllText("$away/$name", 'of somebody' * 200000) }
    $large = 'x' * 2097152
    # Another name of a file, a link where the copy grows, and one that leads to nothing yet.
    $null = New-Item -ItemType HardLink -Path "$folder/one.log" -Value "$away/one"
    foreach ($name in 'two', 'none') { [IO.File]::WriteAllText("$folder/$name.log", $large) }
    $null = New-Item -ItemType SymbolicLink -Path "$folder/two.log.1" -Value "$away/two"
    $null = New-Item -ItemType SymbolicLink -Path "$folder/none.log.1" -Value "$away/new" -Force
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1; Keep = 1 }
    Assert-Run -Name 'logs with links among them are limited' -Run $run -Code 0
    $size = [IO.FileInfo]::new("$away/one").Length
    Assert-That -Name 'a file with another name is not emptied' -Holds ($size -eq 2200000) -Detail $run.text
    $text = [IO.File]::ReadAllText("$away/two")
    $holds = $text.StartsWith('of somebody') -and -not [IO.File]::Exists("$away/new")
    Assert-That -Name 'a copy is not written through a link' -Holds $holds -Detail $run.text
    $sizes = @(foreach ($name in 'two', 'none') { [IO.FileInfo]::new("$folder/$name.log").Length }) -join ' '
    Assert-That -Name 'their logs are emptied all the same' -Holds ($sizes -eq '0 0') -Detail $sizes

    # A folder that becomes a link after it was listed.
    [IO.File]::WriteAllText("$folder/two.log", $large)
    [IO.File]::WriteAllText("$away/two.log", $large)
    Set-Simulation -Area 'swaps' -Name $folder -Value $away
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
    Assert-Run -Name 'a folder is swapped for a link' -Run $run -Code 0 -Text 'leads elsewhere'
    $size = [IO.FileInfo]::new("$away/two.log").Length
    Assert-That -Name 'what the link leads to is not emptied' -Holds ($size -eq 2097152) -Detail $size
    $with = @{ Destination = "$world/C/planted.zip" }
    $null = New-Item -ItemType SymbolicLink -Path $with.Destination -Value "$away/planted" -Force
    $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
    $holds = $run.code -eq 1 -and -not [IO.File]::Exists("$away/planted")
    Assert-That -Name 'a diagnosis is not written through a link' -Holds $holds -Detail $run.text
}

# Programs and scripts of a node are started where only administrators can have put them.
function Test-OpenNode {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $open = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;AU)'
    $config = "$world/C/etc/kubernetes/join-config.yaml"
    [IO.File]::WriteAllText($config, 'x')
    $join = "C:\k\kubeadm.exe join --config $config"
    $done = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
    Set-Simulation -Area 'programs' -Name $join -Value $done
    Set-Simulation -Area 'sddl' -Name 'C:\k\kubeadm.exe' -Value $open
    $run = Invoke-NodeScript -World $world -Name 'Join-Node'
    $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    $holds = $run.code -eq 1 -and $told.Contains('C:\k\kubeadm.exe may be written by AU')
    Assert-That -Name 'a program that users can change is not run' -Holds $holds -Detail $told
    Set-Simulation -Area 'sddl' -Name 'C:\k\kubeadm.exe' -Value $null
    Set-Simulation -Area 'sddl' -Name "$world/C/imagegen" -Value $open
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log'
    Assert-Run -Name 'scripts that users can change are not run' -Run $run -Code 2
}

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
    Assert-Run -Name 'SYSTEM joins' -Run (Invoke-NodeScript -World $World -Name 'Join-Node') -Code 0
    Set-Simulation -Area 'os' -Name 'system' -Value $null
    Assert-Run -Name 'a reset again' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
}

# The payload of the same plan is an upgrade to itself; one with another digest or of another machine is none.
function Test-Upgrade {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $upgrade = 'C:\k\kubeadm.exe upgrade node'
    Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 0; output = ''; creates = '' }
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $folder = "$world/C/payload"
    $null = [IO.Directory]::CreateDirectory($folder)
    foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
        Copy-Item -LiteralPath "$world/C/imagegen/$name" -Destination "$folder/$name" -Recurse
    }
    $zip = "$world/C/payload.zip"
    [IO.Compression.ZipFile]::CreateFromDirectory($folder, $zip)
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = '0' * 64 }
    Assert-Run -Name 'a payload with another digest is refused' -Run $run -Code 1
    $kept = [IO.File]::Exists("$world/C/imagegen/guest-plan.json")
    Assert-That -Name 'a refused payload changes nothing' -Holds $kept
    $digest = Get-Digest -Path $zip
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = $digest }
    Assert-Run -Name 'a payload is put in place' -Run $run -Code 0
    $kept = [IO.File]::Exists("$world/C/imagegen/previous/guest-plan.json")
    Assert-That -Name 'the payload before is kept' -Holds $kept
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'the kubelet runs again' -Holds ($kubelet['state'] -eq 'running')
    Test-OtherUpgrade -World $world -Folder $folder
    Test-FailedUpgrade -World $world -Zip $zip -Digest $digest
}

# The payload again with another plan; gives its archive.
function New-Payload {
    param([string] $World, [string] $Folder, [scriptblock] $Edit)
    $path = "$Folder/guest-plan.json"
    $before = [IO.File]::ReadAllText($path)
    $content = $before | ConvertFrom-Json
    $null = & $Edit $content
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    $zip = "$World/C/other.zip"
    if ([IO.File]::Exists($zip)) { [IO.File]::Delete($zip) }
    [IO.Compression.ZipFile]::CreateFromDirectory($Folder, $zip)
    [IO.File]::WriteAllText($path, $before)
    $zip
}

# An older Kubernetes and one of two minor versions more are refused and change nothing; an upgrade that wants a
# restart goes on with -Continue.
function Test-OtherUpgrade {
    param([string] $World, [string] $Folder)
    $plan = "$World/C/imagegen/guest-plan.json"
    $before = [IO.File]::ReadAllText($plan)
    foreach ($version in '1.19.9', '1.22.0', '2.20.0', '1.20.0-rc.1') {
        $edit = { param($content) $content.kubernetes = $version }
        $zip = New-Payload -World $World -Folder $Folder -Edit $edit
        $with = @{ Payload = $zip; Sha256 = (Get-Digest -Path $zip) }
        $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
        Assert-Run -Name "no upgrade to $version" -Run $run -Code 1
        $same = [IO.File]::ReadAllText($plan) -ceq $before
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $holds = $same -and $kubelet['state'] -eq 'running'
        Assert-That -Name "nothing changes for $version" -Holds $holds -Detail $kubelet
    }
    $zip = New-Payload -World $World -Folder $Folder -Edit {
        param($content)
        $content.kubernetes = '1.21.0'
        $variable = Select-Named -Content $content -Name 'environment/variable'
        $variable.properties.value = 'other'
    }
    $with = @{ Payload = $zip; Sha256 = (Get-Digest -Path $zip) }
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
    Assert-Run -Name 'an upgrade that wants a restart' -Run $run -Code 3010
    Restart-World -World $World
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Continue = $true }
    Assert-Run -Name 'the upgrade goes on' -Run $run -Code 0
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'the kubelet runs after the restart' -Holds ($kubelet['state'] -eq 'running')
    $back = [IO.File]::ReadAllText("$World/C/imagegen/previous/guest-plan.json")
    Assert-That -Name 'the plan before the restart is kept' -Holds ($back -ceq $before)
    # As it was, for the cases that follow.
    [IO.File]::WriteAllText($plan, $before)
    Assert-Run -Name 'the first plan again' -Run (Invoke-Engine -World $World -Phase 'node') -Code 0
}

# An upgrade that fails puts the plan back that was in use, and a reset that fails leaves recovery actions on.
function Test-FailedUpgrade {
    param([string] $World, [string] $Zip, [string] $Digest)
    $plan = "$World/C/imagegen/guest-plan.json"
    $before = [IO.File]::ReadAllText($plan)
    $key = Get-ServiceKey -Name 'kubelet'
    Set-ServiceFailure -Name 'kubelet' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    $recovery = Get-RegistryValue -Key $key -Name 'FailureActions'
    $upgrade = 'C:\k\kubeadm.exe upgrade node'
    Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 1; output = 'no' }
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Payload = $Zip; Sha256 = $Digest }
    Assert-Run -Name 'an upgrade that fails' -Run $run -Code 1
    $told = [IO.File]::ReadAllText("$World/C/imagegen/state/errors.log")
    $holds = $told.Contains('the plan that was in use is back')
    Assert-That -Name 'the old plan is back' -Holds $holds -Detail $told
    Assert-That -Name 'byte for byte' -Holds ([IO.File]::ReadAllText($plan) -ceq $before)
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'and the node runs' -Holds ($kubelet['state'] -eq 'running')
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 1; output = 'no' }
    Assert-Run -Name 'a reset that fails' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 1
    $found = Get-RegistryValue -Key $key -Name 'FailureActions'
    $holds = $found['data'] -ceq $recovery['data']
    Assert-That -Name 'recovery actions are as before' -Holds $holds -Detail $found
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
}

function Assert-Bridge {
    param([string] $Name)
    $bridge = Get-Simulation -Area 'networks' -Name 'cbr0'
    $subnet = @($bridge.Subnets)[0]
    $found = "$($bridge.Type) $($subnet.AddressPrefix) $($subnet.GatewayAddress)"
    $holds = $found -eq 'L2Bridge 10.244.3.0/24 10.244.3.1'
    Assert-That -Name "the bridge after $Name" -Holds $holds -Detail $found
    $end = Get-Simulation -Area 'endpoints' -Name 'cbr0_ep'
    Assert-That -Name "the host's end after $Name" -Holds ("$($end.IPAddress)" -eq '10.244.3.2')
    foreach ($address in '10.1.18.7', '10.244.3.2') {
        $forwards = Get-Simulation -Area 'forwarding' -Name $address
        Assert-That -Name "$address forwards after $Name" -Holds ($forwards -eq 'enabled')
    }
}

function Get-SimulatedLine {
    param([string] $Arguments)
    "C:\k\kubectl.exe get $Arguments --output json --kubeconfig C:\etc\kubernetes\kubelet.conf"
}

# A node whose kubelet is registered, in a cluster that answers; with more in its node.conf.
function New-RegisteredWorld {
    param([string] $Source, [string[]] $More)
    $world = New-NodeWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/imagegen/node.conf", "`nkubectl=C:\k\kubectl.exe`n$($More -join "`n")")
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $name = [Net.Dns]::GetHostName().ToLowerInvariant()
    $node = '{"spec":{"podCIDR":"10.244.3.0/24"},"status":{"addresses":[{"type":"Hostname","address":"x"},'
    $node += '{"type":"InternalIP","address":"10.1.18.7"}]}}'
    $answer = @{ exitCode = 0; output = "Warning: old`n$node`n" }
    Set-Simulation -Area 'programs' -Name (Get-SimulatedLine -Arguments "node $name") -Value $answer
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
    $settings = 'networking:\n  podSubnet: 10.244.0.0/16,fd00::/56\n  serviceSubnet: 10.96.0.0/12\n'
    $answer = @{ exitCode = 0; output = "{`"data`":{`"ClusterConfiguration`":`"$settings`"}}" }
    $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
    Set-Simulation -Area 'programs' -Name $map -Value $answer
    $world
}

# kube-proxy as a service, and flanneld beside it, start when somebody brought their credentials, and are told what
# only a join knows.
function Test-NodeProxy {
    param([string] $Source)
    $more = @('proxyFlags=C:\var\lib\kube-proxy\kube-proxy-flags.env')
    $more += @('proxyArgument=--hostname-override=@NODE_NAME@', 'proxyArgument=--cluster-cidr=@POD_NETWORK@')
    $more += @('proxyArgument=--source-vip=@SOURCE_VIP@')
    $more += @('sourceNetwork=flannel.4096', 'addressPool=C:\opt\cni\bin\host-local.exe')
    $more += @('cniState=C:\var\lib\cni', 'flannel=C:\etc\kube-flannel', 'flanneld=C:\k\flanneld.exe')
    $more += @('flannelTemplate=C:\k\cni\net-conf.json')
    $world = New-RegisteredWorld -Source $Source -More ($more + @('empty=C:\var\lib\cni'))
    foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
        $null = [IO.Directory]::CreateDirectory("$world/C/$folder")
    }
    Write-TextFile -Path 'C:\k\cni\net-conf.json' -Content '{"Network":"@POD_NETWORK@"}'
    Set-Task -Name 'imagegen-flanneld' -Program 'C:\k\flanneld.exe' -Trigger 'minutely' -Enabled $true
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a node without credentials for kube-proxy' -Run $run -Code 0
    $proxy = Get-ServiceConfig -Name 'kube-proxy'
    $found = $proxy['state']
    Assert-That -Name 'kube-proxy waits for its credentials' -Holds ($found -eq 'stopped') -Detail $found
    $found = Get-Simulation -Area 'running' -Name 'imagegen-flanneld'
    Assert-That -Name 'flanneld waits for its credentials' -Holds ($null -eq $found) -Detail $found

    foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
        [IO.File]::WriteAllText("$world/C/$folder/kubeconfig.conf", 'x')
    }
    $name = [Net.Dns]::GetHostName().ToLowerInvariant()
    $wanted = "running KUBE_PROXY_ARGS=`"--hostname-override=$name --cluster-cidr=10.244.0.0/16 "
    $wanted += "--source-vip=10.244.3.9`"`n"
    $flags = "$world/C/var/lib/kube-proxy/kube-proxy-flags.env"
    # The second time the address is the one that is already reserved.
    foreach ($time in 'first', 'second') {
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Name "kube-proxy starts, $time time" -Run $run -Code 0
        $proxy = Get-ServiceConfig -Name 'kube-proxy'
        $found = "$($proxy.state) $([IO.File]::ReadAllText($flags))"
        Assert-That -Name "kube-proxy is told, $time time" -Holds ($found -ceq $wanted) -Detail $found
    }
    $found = [IO.File]::ReadAllText("$world/C/etc/kube-flannel/node-name")
    $holds = $found -ceq "$name`r`n" -and (Get-Simulation -Area 'running' -Name 'imagegen-flanneld') -eq 'task'
    Assert-That -Name 'flanneld runs and knows its node' -Holds $holds -Detail $found
    $found = [IO.File]::ReadAllText("$world/C/etc/kube-flannel/net-conf.json")
    $holds = $found -ceq '{"Network":"10.244.0.0/16"}'
    Assert-That -Name 'flanneld knows the network' -Holds $holds -Detail $found
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'what kube-proxy was told is no drift' -Run $run -Code 0
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
    Assert-Run -Name 'a reset of it' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    Assert-That -Name 'a reset takes it away' -Holds (-not [IO.File]::Exists($flags))
    $holds = -not [IO.File]::Exists("$world/C/etc/kube-flannel/node-name")
    $holds = $holds -and $null -eq (Get-Simulation -Area 'running' -Name 'imagegen-flanneld')
    Assert-That -Name 'a reset stops flanneld' -Holds $holds
}

# A pod network without an agent: its configuration is filled in from the cluster.
function Test-NodeNetwork {
    param([string] $Source)
    $more = @('network=C:\k\cni\10-win-bridge.conf', 'cniConf=C:\etc\cni\net.d', 'bridge=cbr0')
    $world = New-RegisteredWorld -Source $Source -More $more
    $template = '{"ipam":{"subnet":"@NODE_POD_NETWORK@"},"all":"@NODE_ADDRESS@ '
    $template += '@NODE_POD_GATEWAY@ @NODE_POD_FIRST@ @NETWORK_CARD@ @NODE_NETWORK@ '
    $template += '@POD_NETWORK@ @SERVICE_NETWORK@ @DNS_SERVER@ @DNS_DOMAIN@"}'
    Write-TextFile -Path 'C:\k\cni\10-win-bridge.conf' -Content $template
    $kubelet = "clusterDNS:`n- 10.96.0.10`nclusterDomain: a.test`n"
    Write-TextFile -Path 'C:\var\lib\kubelet\config.yaml' -Content $kubelet
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a network is filled in' -Run $run -Code 0
    $found = "$(Get-Content -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf' -Raw)"
    $wanted = '{"ipam":{"subnet":"10.244.3.0/24"},"all":"10.1.18.7 10.244.3.2 10.244.3.3 Ethernet 2 10.1.16.0/20 '
    $wanted += '10.244.0.0/16 10.96.0.0/12 10.96.0.10 a.test"}'
    Assert-That -Name 'the network is the cluster''s' -Holds ($found -ceq $wanted) -Detail $found
    Assert-Bridge -Name 'a join'
    # As after a restart that lost the end, and the network of another cluster is there.
    Set-Simulation -Area 'cards' -Name '10.244.3.2' -Value $null
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'the network of a node that starts' -Run $run -Code 0
    Assert-Bridge -Name 'a start'
    # The task of the bridge starts once: the script itself tries again.
    Set-Simulation -Area 'cards' -Name '10.244.3.2' -Value $null
    Set-Simulation -Area 'fails' -Name 'Invoke-HostNetwork' -Value 'once'
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a service of host networks that starts late' -Run $run -Code 0 -Text 'is not there yet'
    Assert-Bridge -Name 'a late start'
    $other = @{ ID = 'cbr0'; Name = 'cbr0'; Subnets = @(@{ AddressPrefix = '10.9.0.0/24' }) }
    Set-Simulation -Area 'networks' -Name 'cbr0' -Value $other
    $other = @{ ID = 'cbr0_ep'; Name = 'cbr0_ep'; IPAddress = '10.9.0.2' }
    Set-Simulation -Area 'endpoints' -Name 'cbr0_ep' -Value $other
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a network of another cluster' -Run $run -Code 0 -Text 'networks cbr0 is gone'
    Assert-Bridge -Name 'another cluster'

    $answer = @{ exitCode = 0; output = '{"data":{"ClusterConfiguration":"networking: {}"}}' }
    $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
    Set-Simulation -Area 'programs' -Name $map -Value $answer
    Remove-Item -LiteralPath "$world/C/etc/cni/net.d/10-win-bridge.conf" -Force
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a network that nobody knows' -Run $run -Code 1
    $left = Test-Path -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf'
    Assert-That -Name 'no half configuration' -Holds (-not $left)
}

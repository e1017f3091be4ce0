# A machine that joins, and runs of a node's scripts on it. Loaded by load.ps1.

# One run of a script of the node: its exit code and all of its text.
function Invoke-NodeScript {
    param([string] $World, [string] $Name, [hashtable] $With = @{})
    $With.Platform = $script:PlatformFile
    $lines = @(& "$World/C/imagegen/node/$Name.ps1" @With 6>&1)
    @{ code = $LASTEXITCODE; text = ($lines -join "`n") }
}

# A machine with what node.conf says, and a kubeadm that does what it is told.
function New-NodeWorld {
    param()
    $world = New-InstalledWorld
    $launcher = @{ startsWith = 'C:\var\lib\kube-proxy\kubeconfig.conf' }
    Set-ServiceConfig -Name 'kube-proxy' -Change $launcher
    Restart-World -World $world
    $facts = @('version=1.36.0', 'kubeadm=C:\k\kubeadm.exe', 'kubelet=C:\k\kubelet.exe', 'runtime=containerd')
    $facts += @('criSocket=npipe:////./pipe/x', 'conf=C:\etc\kubernetes', 'kubeletRoot=C:\var\lib\kubelet')
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
    param([Parameter(Mandatory)] [string] $State)
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    $found = "$($kubelet.startType) $($kubelet.state) $($kubelet.commandLine)"
    $found | Should -BeExactly "auto $State C:\k\kubelet.exe --windows-service"
}

function Get-SimulatedLine {
    param([string] $Arguments)
    "C:\k\kubectl.exe get $Arguments --output json --kubeconfig C:\etc\kubernetes\kubelet.conf"
}

# A node whose kubelet is registered, in a cluster that answers and names IPv6 first; with more in its node.conf.
function New-RegisteredWorld {
    param([string[]] $More)
    $world = New-NodeWorld
    [IO.File]::AppendAllText("$world/C/imagegen/node.conf", "`nkubectl=C:\k\kubectl.exe`n$($More -join "`n")")
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $name = [Net.Dns]::GetHostName().ToLowerInvariant()
    $node = '{"spec":{"podCIDR":"fd00:3::/64","podCIDRs":["fd00:3::/64","10.244.3.0/24"]},"status":{"addresses":['
    $node += '{"type":"Hostname","address":"x"},{"type":"InternalIP","address":"fd00:1::10.1.18.8"},'
    $node += '{"type":"InternalIP","address":"10.1.18.7"}]}}'
    $answer = @{ exitCode = 0; output = "Warning: old`n$node`n" }
    Set-Simulation -Area 'programs' -Name (Get-SimulatedLine -Arguments "node $name") -Value $answer
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
    $settings = 'networking:\n  podSubnet: fd00::/56,10.244.0.0/16\n  serviceSubnet: fd01::/112,10.96.0.0/12\n'
    $answer = @{ exitCode = 0; output = "{`"data`":{`"ClusterConfiguration`":`"$settings`"}}" }
    $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
    Set-Simulation -Area 'programs' -Name $map -Value $answer
    $world
}

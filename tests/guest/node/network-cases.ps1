# The pod network of a node, kube-proxy and flanneld. Loaded by run.ps1.

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

function Assert-Bridge {
    param([string] $Name)
    $bridge = Get-Simulation -Area 'networks' -Name 'cbr0'
    $subnet = @($bridge.Subnets)[0]
    $found = "$($bridge.Type) $($subnet.AddressPrefix) $($subnet.GatewayAddress) $($bridge.NetworkAdapterName)"
    $holds = $found -eq 'L2Bridge 10.244.3.0/24 10.244.3.1 Ethernet 2'
    Assert-That -Name "the bridge after $Name" -Holds $holds -Detail $found
    $end = Get-Simulation -Area 'endpoints' -Name 'cbr0_ep'
    Assert-That -Name "the host's end after $Name" -Holds ("$($end.IPAddress)" -eq '10.244.3.2')
    foreach ($address in '10.1.18.7', '10.244.3.2') {
        $forwards = Get-Simulation -Area 'forwarding' -Name $address
        Assert-That -Name "$address forwards after $Name" -Holds ($forwards -eq 'enabled')
    }
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

# A machine that started with another address: its configuration is written anew once the cluster knows it. Until
# then the node is not completed.
function Test-NewAddress {
    param([string] $Source)
    $more = @('network=C:\k\cni\10-win-overlay.conf', 'cniConf=C:\etc\cni\net.d')
    $world = New-RegisteredWorld -Source $Source -More $more
    $template = '{"Settings":{"ProviderAddress":"@NODE_ADDRESS@"}}'
    Write-TextFile -Path 'C:\k\cni\10-win-overlay.conf' -Content $template
    $path = 'C:\etc\cni\net.d\10-win-overlay.conf'
    Write-TextFile -Path $path -Content $template.Replace('@NODE_ADDRESS@', '10.1.18.6')
    $mark = "$world/C/imagegen/state/completed"
    $null = [IO.Directory]::CreateDirectory((Split-Path -Path $mark))
    [IO.File]::WriteAllText($mark, 'x')
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value $null
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 2 }
    Assert-Run -Name 'an address that nobody has' -Run $run -Code 1 -Text 'does not have 10.1.18.6 now'
    Assert-That -Name 'the node is not completed' -Holds (-not [IO.File]::Exists($mark))
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'an address that the cluster knows' -Run $run -Code 0
    $found = "$(Get-Content -LiteralPath $path -Raw)"
    $holds = $found -ceq $template.Replace('@NODE_ADDRESS@', '10.1.18.7')
    Assert-That -Name 'the pod network has the new address' -Holds $holds -Detail $found
    Assert-That -Name 'the node is completed' -Holds ([IO.File]::Exists($mark))
}

# A pod network without an agent: its configuration is filled in from the cluster.
function Test-NodeNetwork {
    param([string] $Source)
    $more = @('network=C:\k\cni\10-win-bridge.conf', 'cniConf=C:\etc\cni\net.d', 'bridge=cbr0')
    $world = New-RegisteredWorld -Source $Source -More $more
    $template = '{"ipam":{"subnet":"@NODE_POD_NETWORK@"},"Type":"SDNRoute","Settings":'
    $template += '{ "DestinationPrefix": "@NODE_ADDRESS@/32" },"all":"@NODE_ADDRESS@ '
    $template += '@NODE_POD_GATEWAY@ @NODE_POD_FIRST@ @NETWORK_CARD@ @NODE_NETWORK@ '
    $template += '@POD_NETWORK@ @SERVICE_NETWORK@ @DNS_SERVER@ @DNS_DOMAIN@"}'
    Write-TextFile -Path 'C:\k\cni\10-win-bridge.conf' -Content $template
    $kubelet = "clusterDNS:`n- fd01::a`n- 10.96.0.10`nclusterDomain: a.test`n"
    Write-TextFile -Path 'C:\var\lib\kubelet\config.yaml' -Content $kubelet
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    Assert-Run -Name 'a network is filled in' -Run $run -Code 0
    $found = "$(Get-Content -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf' -Raw)"
    $wanted = '{"ipam":{"subnet":"10.244.3.0/24"},"Type":"SDNRoute","Settings":'
    $wanted += '{ "DestinationPrefix": "10.1.18.7/32" },"all":"10.1.18.7 '
    $wanted += '10.244.3.2 10.244.3.3 Ethernet 2 10.1.16.0/20 '
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
    # An address that comes late: without it Windows would choose one of several cards.
    Set-Simulation -Area 'networks' -Name 'cbr0' -Value $null
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value $null
    $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 2 }
    Assert-Run -Name 'an address that comes late' -Run $run -Code 1 -Text 'does not have 10.1.18.7 now'
    $found = Get-Simulation -Area 'networks' -Name 'cbr0'
    Assert-That -Name 'no bridge without its card' -Holds ($null -eq $found) -Detail $found
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
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

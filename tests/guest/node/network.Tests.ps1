# The pod network of a node, kube-proxy and flanneld.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    function Assert-Bridge {
        $bridge = Get-Simulation -Area 'networks' -Name 'cbr0'
        $subnet = @($bridge.Subnets)[0]
        $found = "$($bridge.Type) $($subnet.AddressPrefix) $($subnet.GatewayAddress) $($bridge.NetworkAdapterName)"
        $found | Should -Be 'L2Bridge 10.244.3.0/24 10.244.3.1 Ethernet 2'
        $end = Get-Simulation -Area 'endpoints' -Name 'cbr0_ep'
        "$($end.IPAddress)" | Should -Be '10.244.3.2'
        foreach ($address in '10.1.18.7', '10.244.3.2') {
            Get-Simulation -Area 'forwarding' -Name $address | Should -Be 'enabled' -Because $address
        }
    }
}

# Agents that reach the host through wins start in the network nat, whose addresses Windows chooses.
Describe 'StartNetwork' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $more = "`nstartNetwork=C:\k\cni\0-containerd-nat.json`ncniConf=C:\etc\cni\net.d"
        [IO.File]::AppendAllText("$world/C/imagegen/node.conf", $more)
        Set-Simulation -Area 'networks' -Name 'nat' -Value $null
        Write-TextFile -Path 'C:\k\cni\0-containerd-nat.json' -Content '{"a":"@NAT_NETWORK@","b":"@NAT_GATEWAY@"}'
    }

    # What Test-Node compares is made before, as an image has it.
    It 'a node with nat' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'node') -Code 0
    }

    It 'the network that agents start in' {
        [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 30 }
        Assert-Run -Run $run -Code 0 -Text 'start in the network nat'
    }

    It 'its configuration has the addresses of Windows' {
        $found = [IO.File]::ReadAllText("$world/C/etc/cni/net.d/0-containerd-nat.json")
        $found | Should -BeExactly '{"a":"172.20.0.0/20","b":"172.20.0.1"}'
    }
}

# kube-proxy as a service, and flanneld beside it, start when somebody brought their credentials, and are told what
# only a join knows.
Describe 'NodeProxy' -Tag 'node' {
    BeforeAll {
        $more = @('proxyFlags=C:\var\lib\kube-proxy\kube-proxy-flags.env')
        $more += @('proxyArgument=--hostname-override=@NODE_NAME@', 'proxyArgument=--cluster-cidr=@POD_NETWORK@')
        $more += @('proxyArgument=--source-vip=@SOURCE_VIP@')
        $more += @('sourceNetwork=flannel.4096', 'addressPool=C:\opt\cni\bin\host-local.exe')
        $more += @('cniState=C:\var\lib\cni', 'flannel=C:\etc\kube-flannel', 'flanneld=C:\k\flanneld.exe')
        $more += @('flannelTemplate=C:\k\cni\net-conf.json')
        $world = New-RegisteredWorld -More ($more + @('empty=C:\var\lib\cni'))
        foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
            $null = [IO.Directory]::CreateDirectory("$world/C/$folder")
        }
        Write-TextFile -Path 'C:\k\cni\net-conf.json' -Content '{"Network":"@POD_NETWORK@"}'
        Set-Task -Name 'imagegen-flanneld' -Program 'C:\k\flanneld.exe' -Trigger 'minutely' -Enabled $true
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    }

    It 'a node without credentials for kube-proxy' {
        Assert-Run -Run $run -Code 0
    }

    It 'kube-proxy waits for its credentials' {
        $proxy = Get-ServiceConfig -Name 'kube-proxy'
        $found = $proxy['state']
        $found | Should -Be 'stopped'
    }

    It 'flanneld waits for its credentials' {
        $found = Get-Simulation -Area 'running' -Name 'imagegen-flanneld'
        $null -eq $found | Should -BeTrue
    }

    Context 'with credentials' {
        BeforeAll {
            foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
                [IO.File]::WriteAllText("$world/C/$folder/kubeconfig.conf", 'x')
            }
            $script:name = [Net.Dns]::GetHostName().ToLowerInvariant()
            $script:wanted = "running KUBE_PROXY_ARGS=`"--hostname-override=$name --cluster-cidr=10.244.0.0/16 "
            $script:wanted += "--source-vip=10.244.3.9`"`n"
            $script:flags = "$world/C/var/lib/kube-proxy/kube-proxy-flags.env"
        }

        # The second time the address is the one that is already reserved.
        Context '<time>' -ForEach @(@{ time = 'first' }, @{ time = 'second' }) {
            BeforeAll {
                $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
            }

            It 'kube-proxy starts, <time> time' {
                Assert-Run -Run $run -Code 0
            }

            It 'kube-proxy is told, <time> time' {
                $proxy = Get-ServiceConfig -Name 'kube-proxy'
                $found = "$($proxy.state) $([IO.File]::ReadAllText($flags))"
                $found | Should -BeExactly $wanted
            }
        }
    }

    It 'flanneld runs and knows its node' {
        $found = [IO.File]::ReadAllText("$world/C/etc/kube-flannel/node-name")
        $found | Should -BeExactly "$name`r`n"
        (Get-Simulation -Area 'running' -Name 'imagegen-flanneld') | Should -Be 'task' -Because $found
    }

    It 'flanneld knows the network' {
        $found = [IO.File]::ReadAllText("$world/C/etc/kube-flannel/net-conf.json")
        $found | Should -BeExactly '{"Network":"10.244.0.0/16"}'
    }

    It 'what kube-proxy was told is no drift' {
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Run $run -Code 0
    }

    It 'a reset of it' {
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    }

    It 'a reset takes it away' {
        [IO.File]::Exists($flags) | Should -BeFalse
    }

    It 'a reset stops flanneld' {
        $holds = -not [IO.File]::Exists("$world/C/etc/kube-flannel/node-name")
        $holds | Should -BeTrue
        $null -eq (Get-Simulation -Area 'running' -Name 'imagegen-flanneld') | Should -BeTrue
    }
}

# A machine that started with another address: its configuration is written anew once the cluster knows it. Until
# then the node is not completed.
Describe 'NewAddress' -Tag 'node' {
    BeforeAll {
        $more = @('network=C:\k\cni\10-win-overlay.conf', 'cniConf=C:\etc\cni\net.d')
        $world = New-RegisteredWorld -More $more
        $template = '{"Settings":{"ProviderAddress":"@NODE_ADDRESS@"}}'
        Write-TextFile -Path 'C:\k\cni\10-win-overlay.conf' -Content $template
        $path = 'C:\etc\cni\net.d\10-win-overlay.conf'
        Write-TextFile -Path $path -Content $template.Replace('@NODE_ADDRESS@', '10.1.18.6')
        $mark = "$world/C/imagegen/state/completed"
        $null = [IO.Directory]::CreateDirectory((Split-Path -Path $mark))
        [IO.File]::WriteAllText($mark, 'x')
        Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value $null
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 2 }
    }

    It 'an address that nobody has' {
        Assert-Run -Run $run -Code 1 -Text 'does not have 10.1.18.6 now'
    }

    It 'the node is not completed' {
        [IO.File]::Exists($mark) | Should -BeFalse
    }

    It 'an address that the cluster knows' {
        Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Run $run -Code 0
    }

    It 'the pod network has the new address' {
        $found = "$(Get-Content -LiteralPath $path -Raw)"
        $found | Should -BeExactly $template.Replace('@NODE_ADDRESS@', '10.1.18.7')
    }

    It 'the node is completed' {
        [IO.File]::Exists($mark) | Should -BeTrue
    }
}

# A pod network without an agent: its configuration is filled in from the cluster.
Describe 'NodeNetwork' -Tag 'node' {
    BeforeAll {
        $more = @('network=C:\k\cni\10-win-bridge.conf', 'cniConf=C:\etc\cni\net.d', 'bridge=cbr0')
        $world = New-RegisteredWorld -More $more
        $template = '{"ipam":{"subnet":"@NODE_POD_NETWORK@"},"Type":"SDNRoute","Settings":'
        $template += '{ "DestinationPrefix": "@NODE_ADDRESS@/32" },"all":"@NODE_ADDRESS@ '
        $template += '@NODE_POD_GATEWAY@ @NODE_POD_FIRST@ @NETWORK_CARD@ @NODE_NETWORK@ '
        $template += '@POD_NETWORK@ @SERVICE_NETWORK@ @DNS_SERVER@ @DNS_DOMAIN@"}'
        Write-TextFile -Path 'C:\k\cni\10-win-bridge.conf' -Content $template
        $kubelet = "clusterDNS:`n- fd01::a`n- 10.96.0.10`nclusterDomain: a.test`n"
        Write-TextFile -Path 'C:\var\lib\kubelet\config.yaml' -Content $kubelet
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
    }

    It 'a network is filled in' {
        Assert-Run -Run $run -Code 0
    }

    It 'the network is the cluster''s' {
        $found = "$(Get-Content -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf' -Raw)"
        $wanted = '{"ipam":{"subnet":"10.244.3.0/24"},"Type":"SDNRoute","Settings":'
        $wanted += '{ "DestinationPrefix": "10.1.18.7/32" },"all":"10.1.18.7 '
        $wanted += '10.244.3.2 10.244.3.3 Ethernet 2 10.1.16.0/20 '
        $wanted += '10.244.0.0/16 10.96.0.0/12 10.96.0.10 a.test"}'
        $found | Should -BeExactly $wanted
    }

    It 'the bridge after a join' {
        Assert-Bridge
    }

    It 'the network of a node that starts' {
        # As after a restart that lost the end, and the network of another cluster is there.
        Set-Simulation -Area 'cards' -Name '10.244.3.2' -Value $null
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Run $run -Code 0
    }

    It 'the bridge after a start' {
        Assert-Bridge
    }

    It 'a service of host networks that starts late' {
        # The task of the bridge starts once: the script itself tries again.
        Set-Simulation -Area 'cards' -Name '10.244.3.2' -Value $null
        Set-Simulation -Area 'fails' -Name 'Invoke-HostNetwork' -Value 'once'
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Run $run -Code 0 -Text 'is not there yet'
    }

    It 'the bridge after a late start' {
        Assert-Bridge
    }

    It 'an address that comes late' {
        # An address that comes late: without it Windows would choose one of several cards.
        Set-Simulation -Area 'networks' -Name 'cbr0' -Value $null
        Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value $null
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node' -With @{ TimeoutSeconds = 2 }
        Assert-Run -Run $run -Code 1 -Text 'does not have 10.1.18.7 now'
    }

    It 'no bridge without its card' {
        $found = Get-Simulation -Area 'networks' -Name 'cbr0'
        $null -eq $found | Should -BeTrue
    }

    It 'a network of another cluster' {
        Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
        $other = @{ ID = 'cbr0'; Name = 'cbr0'; Subnets = @(@{ AddressPrefix = '10.9.0.0/24' }) }
        Set-Simulation -Area 'networks' -Name 'cbr0' -Value $other
        $other = @{ ID = 'cbr0_ep'; Name = 'cbr0_ep'; IPAddress = '10.9.0.2' }
        Set-Simulation -Area 'endpoints' -Name 'cbr0_ep' -Value $other
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Run $run -Code 0 -Text 'networks cbr0 is gone'
    }

    It 'the bridge after another cluster' {
        Assert-Bridge
    }

    It 'a network that nobody knows' {
        $answer = @{ exitCode = 0; output = '{"data":{"ClusterConfiguration":"networking: {}"}}' }
        $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
        Set-Simulation -Area 'programs' -Name $map -Value $answer
        Remove-Item -LiteralPath "$world/C/etc/cni/net.d/10-win-bridge.conf" -Force
        $run = Invoke-NodeScript -World $world -Name 'Complete-Node'
        Assert-Run -Run $run -Code 1
    }

    It 'no half configuration' {
        $left = Test-Path -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf'
        $left | Should -BeFalse
    }
}

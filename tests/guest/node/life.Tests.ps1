# A node's life on the simulated Windows.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'NodeLife' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $conf = "$world/C/etc/kubernetes"
        $join = "C:\k\kubeadm.exe join --config $conf/join-config.yaml"
        $secret = 'token: abcdef.0123456789abcdef'
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
    }

    It 'a fresh node has not drifted' {
        Assert-Run -Run $run -Code 0
    }

    It 'arguments that kubeadm wrote are no drift' {
        # Left by another join: not taken for what this one writes.
        $flags = "$world/C/var/lib/kubelet/kubeadm-flags.env"
        $null = [IO.Directory]::CreateDirectory("$world/C/var/lib/kubelet")
        [IO.File]::WriteAllText($flags, "KUBELET_KUBEADM_ARGS=`"--old`"`n")
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Run $run -Code 0
    }

    It 'a join that fails' {
        [IO.File]::WriteAllText("$conf/join-config.yaml", $secret)
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1
    }

    It 'a join that failed says why' {
        $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
        $told.Contains('Join-Node: ') | Should -BeTrue -Because $told
    }

    It 'and says it in the event log' {
        $told = Get-Simulation -Area 'os' -Name 'event'
        $told | Should -Not -Be $null
    }

    It 'a join that failed: the kubelet is stopped' {
        Assert-Kubelet -State 'stopped'
    }

    It 'the secret is gone after a failure' {
        # What a failed kubeadm leaves: its preflight refuses the file and the port of a kubelet that runs.
        $null = [IO.Directory]::CreateDirectory("$conf/pki")
        [IO.File]::WriteAllText("$conf/pki/ca.crt", 'old')
        Set-ServiceConfig -Name 'kubelet' -Change @{ state = 'running' }
        $there = [IO.File]::Exists("$conf/join-config.yaml")
        $there | Should -BeFalse
    }

    It 'a node joins' {
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
        $script:run = Invoke-NodeScript -World $world -Name 'Join-Node'
        Assert-Run -Run $run -Code 0 -Text 'the kubelet is registered and well'
    }

    It 'the authority of the failed join is gone' {
        $script:left = [IO.File]::Exists("$conf/pki/ca.crt")
        $left | Should -BeFalse
    }

    It 'no secret is told' {
        $run.text.Contains('0123456789abcdef') | Should -BeFalse -Because $run.text
    }

    It 'the secret is gone after a join' {
        $there = [IO.File]::Exists("$conf/join-config.yaml")
        $there | Should -BeFalse
    }

    It 'a node that joined: the kubelet is running' {
        Assert-Kubelet -State 'running'
    }

    It 'a node that joined has not drifted' {
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Run $run -Code 0
    }

    It 'no second join' {
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1
    }

    It 'a diagnosis is made' {
        $bare = "$secret`
kubeadm join 10.0.0.1 abcdef.0123456789abcdef"
        [IO.File]::WriteAllText("$world/C/var/log/kubelet/kubelet.log", $bare)
        $with = @{ Destination = "$world/C/diagnosis.zip" }
        $script:run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
        Assert-Run -Run $run -Code 0
    }

    It 'a diagnosis tells no token' {
        [IO.Compression.ZipFile]::ExtractToDirectory("$world/C/diagnosis.zip", "$world/C/diagnosis")
        $log = [IO.File]::ReadAllText("$world/C/diagnosis/log/kubelet/kubelet.log")
        $log | Should -BeExactly "token: REDACTED`nkubeadm join 10.0.0.1 REDACTED"
    }

    It 'a node is reset' {
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
        # One that the plan does not make anew.
        $kinds = @{ pods = 'L2Bridge'; docker = 'NAT' }
        foreach ($name in $kinds.Keys) {
            Set-Simulation -Area 'networks' -Name $name -Value @{ ID = $name; Name = $name; Type = $kinds[$name] }
        }
        Set-Simulation -Area 'endpoints' -Name 'e1' -Value @{ ID = 'e1'; Name = 'e1'; Type = 'L2Bridge' }
        [IO.File]::WriteAllText("$world/C/run/flannel/subnet.env", 'x')
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    }

    It 'networks of pods are gone' {
        Step-Simulation -Moment 'minute'
        $script:left = @(Invoke-HostNetwork -Method 'GET' -Path '/networks' | ForEach-Object { $_.Name })
        $left | Should -Not -Contain 'pods'
    }

    It 'networks of the runtime stay' {
        $left | Should -Contain 'docker'
    }

    It 'endpoints are gone' {
        $script:left = @(Invoke-HostNetwork -Method 'GET' -Path '/endpoints')
        $left.Count | Should -Be 0 -Because $left
    }

    It 'a reset removes <below>' -ForEach @(
        @{ below = 'etc/kubernetes/kubelet.conf' }
        @{ below = 'run/flannel/subnet.env' }
    ) {
        [IO.File]::Exists("$world/C/$below") | Should -BeFalse
    }

    It 'a node that was reset: the kubelet is stopped' {
        Assert-Kubelet -State 'stopped'
    }

    It 'a reset that waits for a restart' {
        [IO.File]::WriteAllText("$World/C/run/flannel/subnet.env", 'x')
        Set-Simulation -Area 'files' -Name 'subnet.env' -Value 'held 2'
        Set-Simulation -Area 'features' -Name 'Containers' -Value $null
        Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
        $null = [IO.Directory]::CreateDirectory("$World/C/imagegen/cache")
        $script:run = Invoke-NodeScript -World $World -Name 'Reset-Node'
        Assert-Run -Run $run -Code 3010 -Text 'waits for a restart'
    }

    It 'what is held for a moment is removed' {
        $script:left = [IO.File]::Exists("$World/C/run/flannel/subnet.env")
        $left | Should -BeFalse
    }

    It 'a reset that brings a feature back' {
        Restart-World -World $World
        $script:run = Invoke-NodeScript -World $World -Name 'Reset-Node'
        Assert-Run -Run $run -Code 3010
    }

    It 'downloads stay until a phase is over' {
        [IO.Directory]::Exists("$World/C/imagegen/cache") | Should -BeTrue
    }

    It 'the last turn of it' {
        Restart-World -World $World
        Assert-Run -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
    }

    It 'and go then' {
        [IO.Directory]::Exists("$World/C/imagegen/cache") | Should -BeFalse
    }

    It 'an administrator leaves no check out' {
        [IO.File]::AppendAllText("$World/C/imagegen/node.conf", "`nrefusedToSystem=IsPrivilegedUser")
        $done = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
        Set-Simulation -Area 'programs' -Name "$Join --ignore-preflight-errors=IsPrivilegedUser" -Value $done
        Set-Simulation -Area 'programs' -Name $Join -Value @{ exitCode = 1; output = 'IsPrivilegedUser' }
        $script:config = "$World/C/etc/kubernetes/join-config.yaml"
        [IO.File]::WriteAllText($config, 'x')
        $script:run = Invoke-NodeScript -World $World -Name 'Join-Node'
        Assert-Run -Run $run -Code 1
    }

    It 'SYSTEM joins' {
        Set-Simulation -Area 'os' -Name 'system' -Value 'yes'
        [IO.File]::WriteAllText($config, 'x')
        # In a cluster whose kubelets say elsewhere that they are well.
        $null = [IO.Directory]::CreateDirectory("$World/C/var/lib/kubelet")
        $text = "healthzBindAddress: ::1`nhealthzPort: 10348`n"
        [IO.File]::WriteAllText("$World/C/var/lib/kubelet/config.yaml", $text)
        Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10248/healthz' -Value $null
        Set-Simulation -Area 'pages' -Name 'http://[::1]:10348/healthz' -Value 'ok'
        Assert-Run -Run (Invoke-NodeScript -World $World -Name 'Join-Node') -Code 0
    }

    It 'SYSTEM resets' {
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        $done = @{ exitCode = 0; output = ''; creates = '' }
        Set-Simulation -Area 'programs' -Name "$reset --ignore-preflight-errors=IsPrivilegedUser" -Value $done
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 1; output = 'IsPrivilegedUser' }
        Assert-Run -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
    }

    It 'a kubelet that is newer is told' {
        Set-Simulation -Area 'os' -Name 'system' -Value $null
        [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
        $newer = @{ exitCode = 0; output = 'Kubernetes v9.9.9' }
        Set-Simulation -Area 'programs' -Name 'C:\k\kubelet.exe --version' -Value $newer
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Run $run -Code 8 -Text 'the kubelet is 9.9.9, newer'
    }

    It 'drift is told as JSON' {
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node' -With @{ Format = 'json' }
        Assert-Run -Run $run -Code 8 -Text 'kubelet/program'
    }

    It 'no join after drift' {
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 8
    }
}

# The first start of a clone. The platform has renamed the built-in administrator, gave it to its customer, or left
# an account of the build; the key of the build's listener goes in any case.
Describe 'Clone' -Tag 'node' {
    Context '<kind>' -ForEach @(@{ kind = 'customer' }, @{ kind = 'gone' }, @{ kind = 'left' }) {
        BeforeAll {
            $script:world = New-InstalledWorld
            Remove-WinrmListener -Transport 'HTTPS'
            New-WinrmListener -Transport 'HTTPS'
            $users = @{ customer = 'present'; gone = $null; left = 'present' }
            Set-Simulation -Area 'users' -Name 'packer' -Value $users[$kind]
            if ($kind -eq 'customer') { Set-Simulation -Area 'administrators' -Name 'packer' -Value '500' }
        }

        It 'a clone: <kind>' {
            Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Initialize-Clone') -Code 0
        }

        It 'a clone: <kind>, the account' {
            $expected = @{ customer = 'present'; gone = 'absent'; left = 'disabled' }[$kind]
            $found = Get-UserState -Name 'packer'
            $found | Should -Be $expected
        }

        It 'a clone: <kind>, no private key' {
            $left = Get-Simulation -Area 'keys' -Name 'A1B2'
            $null -eq $left | Should -BeTrue
        }

        It 'a clone: <kind>, no listener' {
            $left = Test-WinrmListener -Transport 'HTTPS'
            $left | Should -BeFalse
        }
    }

    It 'a clone that fails' {
        $script:world = New-InstalledWorld
        Set-Simulation -Area 'fails' -Name 'Get-UserState' -Value 'yes'
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Initialize-Clone') -Code 1
    }

    It 'a clone that fails closes the other ways in' {
        Test-WinrmListener -Transport 'HTTPS' | Should -BeFalse
    }

    It 'a clone that fails says of what' {
        $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
        $reason = 'Initialize-Clone: the first boot of this clone failed, so it does not join: firstboot/user'
        $told.Contains($reason) | Should -BeTrue -Because $told
    }
}

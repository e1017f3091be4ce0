# Logs of a node, and what others put where it writes and what it runs.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# Logs are emptied in place when they are large, and go when they are old.
Describe 'NodeLog' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
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
    }

    Context '<turn>' -ForEach @(@{ turn = 1 }, @{ turn = 2 }) {
        BeforeAll {
            [IO.File]::WriteAllText($log, "$turn" * 2097152)
            [IO.File]::WriteAllText($pod, 'x' * 2097152)
            [IO.File]::WriteAllText($old, 'x')
            [IO.File]::SetLastWriteTimeUtc($old, [DateTime]::UtcNow.AddDays(-40))
            $script:run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        }

        It 'logs are limited, <turn>' {
            Assert-Run -Run $run -Code 0
        }

        It 'a large log is emptied, <turn>' {
            $size = [IO.FileInfo]::new($log).Length
            $size | Should -Be 0
        }

        It 'and copied before, <turn>' {
            $copy = [IO.File]::ReadAllText("$log.1")
            $copy.StartsWith("$turn") | Should -BeTrue -Because $copy.Length
            $copy.Length | Should -Be 2097152
        }

        It 'an old log goes, <turn>' {
            [IO.File]::Exists($old) | Should -BeFalse
        }

        It 'logs of pods stay, <turn>' {
            [IO.FileInfo]::new($pod).Length | Should -BeGreaterThan 0
        }
    }

    It 'the copy before is kept' {
        [IO.File]::ReadAllText("$log.2").StartsWith('1') | Should -BeTrue
    }

    It 'what is behind a link stays' {
        [IO.File]::Exists($away) | Should -BeTrue
    }

    Context 'a folder that tells an old length' {
        BeforeAll {
            # A folder tells the length that a log had when it was closed last.
            [IO.File]::WriteAllText($log, 'x')
            $listed = Get-Item -LiteralPath $log
            $lister = Get-Command -Name 'Get-ChildItem' -CommandType Cmdlet
            [IO.File]::WriteAllText($log, '3' * 2097152)
            $played = @{
                'Get-ChildItem' = {
                    foreach ($item in @(& $lister @args)) {
                        if ($item.FullName -ceq $listed.FullName) { $listed } else { $item }
                    }
                }.GetNewClosure()
            }
            Add-Played -Functions $played
            $script:run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        }

        AfterAll {
            Remove-Played -Functions $played
        }

        It 'a log that is listed with its old length' {
            Assert-Run -Run $run -Code 0
        }
    }

    It 'is emptied by its own length' {
        $size = [IO.FileInfo]::new($log).Length
        $size | Should -Be 0
    }

    It 'a log that is open for a month' {
        # While it is open, the time of its last write stands still, and nobody removes it.
        [IO.File]::WriteAllText($log, '4' * 2097152)
        [IO.File]::SetLastWriteTimeUtc($log, [DateTime]::UtcNow.AddDays(-40))
        Set-Simulation -Area 'files' -Name 'kubelet.log' -Value 'locked'
        $script:run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Set-Simulation -Area 'files' -Name 'kubelet.log' -Value $null
        Assert-Run -Run $run -Code 0
    }

    It 'is emptied all the same' {
        $size = [IO.FileInfo]::new($log).Length
        $size | Should -Be 0 -Because $run.text
    }

    It 'a log on a full disk' {
        # A disk that is full has no room for a copy.
        [IO.File]::WriteAllText($log, '5' * 2097152)
        Set-Simulation -Area 'os' -Name 'free' -Value 1024
        $script:run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Set-Simulation -Area 'os' -Name 'free' -Value $null
        Assert-Run -Run $run -Code 0 -Text 'without a copy'
    }

    It 'is emptied, and the copy before stays' {
        $size = [IO.FileInfo]::new($log).Length
        $size | Should -Be 0 -Because $run.text
        [IO.File]::ReadAllText("$log.1").StartsWith('4') | Should -BeTrue -Because $run.text
    }

    It 'a large log of failures' {
        # Of the scripts themselves.
        $script:own = "$world/C/imagegen/state/errors.log"
        [IO.File]::WriteAllText($own, 'x' * 2097152)
        $script:run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Assert-Run -Run $run -Code 0
    }

    It 'is emptied after a copy' {
        $sizes = @(foreach ($name in $own, "$own.1") { [IO.FileInfo]::new($name).Length }) -join ' '
        $sizes | Should -Be '0 2097152'
    }
}

# What a pod can put into the folder of logs that it mounts. Each log is larger than the limit.
Describe 'PlantedLog' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
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
    }

    It 'logs with links among them are limited' {
        Assert-Run -Run $run -Code 0
    }

    It 'a file with another name is not emptied' {
        $size = [IO.FileInfo]::new("$away/one").Length
        $size | Should -Be 2200000 -Because $run.text
    }

    It 'a copy is not written through a link' {
        $text = [IO.File]::ReadAllText("$away/two")
        $text.StartsWith('of somebody') | Should -BeTrue -Because $run.text
        [IO.File]::Exists("$away/new") | Should -BeFalse -Because $run.text
    }

    It 'their logs are emptied all the same' {
        $sizes = @(foreach ($name in 'two', 'none') { [IO.FileInfo]::new("$folder/$name.log").Length }) -join ' '
        $sizes | Should -Be '0 0'
    }

    It 'a folder is swapped for a link' {
        # A folder that becomes a link after it was listed.
        [IO.File]::WriteAllText("$folder/two.log", $large)
        [IO.File]::WriteAllText("$away/two.log", $large)
        Set-Simulation -Area 'swaps' -Name $folder -Value $away
        $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Assert-Run -Run $run -Code 0 -Text 'leads elsewhere'
    }

    It 'what the link leads to is not emptied' {
        $size = [IO.FileInfo]::new("$away/two.log").Length
        $size | Should -Be 2097152
    }

    It 'a diagnosis is not written through a link' {
        $with = @{ Destination = "$world/C/planted.zip" }
        $null = New-Item -ItemType SymbolicLink -Path $with.Destination -Value "$away/planted" -Force
        $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
        $run.code | Should -Be 1 -Because $run.text
        [IO.File]::Exists("$away/planted") | Should -BeFalse -Because $run.text
    }
}

# Programs and scripts of a node are started where only administrators can have put them.
Describe 'OpenNode' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $open = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;AU)'
        $config = "$world/C/etc/kubernetes/join-config.yaml"
        [IO.File]::WriteAllText($config, 'x')
        $join = "C:\k\kubeadm.exe join --config $config"
        $done = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
        Set-Simulation -Area 'programs' -Name $join -Value $done
        Set-Simulation -Area 'sddl' -Name 'C:\k\kubeadm.exe' -Value $open
        $run = Invoke-NodeScript -World $world -Name 'Join-Node'
        $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    }

    It 'a program that users can change is not run' {
        $run.code | Should -Be 1 -Because $told
        $told.Contains('C:\k\kubeadm.exe may be written by AU') | Should -BeTrue -Because $told
    }

    It 'scripts that users can change are not run' {
        Set-Simulation -Area 'sddl' -Name 'C:\k\kubeadm.exe' -Value $null
        Set-Simulation -Area 'sddl' -Name "$world/C/imagegen" -Value $open
        $run = Invoke-NodeScript -World $world -Name 'Limit-Log'
        Assert-Run -Run $run -Code 2
    }
}

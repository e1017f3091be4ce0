# Logs of a node, and what others put where it writes and what it runs. Loaded by run.ps1.

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

    # A folder tells the length that a log had when it was closed last.
    [IO.File]::WriteAllText($log, 'x')
    $listed = Get-Item -LiteralPath $log
    $lister = Get-Command -Name 'Get-ChildItem' -CommandType Cmdlet
    $before = $listed.Length
    [IO.File]::WriteAllText($log, '3' * 2097152)
    $played = @{
        'Get-ChildItem' = {
            foreach ($item in @(& $lister @args)) {
                if ($item.FullName -ceq $listed.FullName) { $listed } else { $item }
            }
        }.GetNewClosure()
    }
    Use-Played -Functions $played -Block {
        $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Assert-Run -Name "a log that is listed with $before bytes" -Run $run -Code 0
    }
    $size = [IO.FileInfo]::new($log).Length
    Assert-That -Name 'is emptied by its own length' -Holds ($size -eq 0) -Detail $size

    # While it is open, the time of its last write stands still, and nobody removes it.
    [IO.File]::WriteAllText($log, '4' * 2097152)
    [IO.File]::SetLastWriteTimeUtc($log, [DateTime]::UtcNow.AddDays(-40))
    Set-Simulation -Area 'files' -Name 'kubelet.log' -Value 'locked'
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
    Set-Simulation -Area 'files' -Name 'kubelet.log' -Value $null
    Assert-Run -Name 'a log that is open for a month' -Run $run -Code 0
    $size = [IO.FileInfo]::new($log).Length
    Assert-That -Name 'is emptied all the same' -Holds ($size -eq 0) -Detail $run.text

    # A disk that is full has no room for a copy.
    [IO.File]::WriteAllText($log, '5' * 2097152)
    Set-Simulation -Area 'os' -Name 'free' -Value 1024
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
    Set-Simulation -Area 'os' -Name 'free' -Value $null
    Assert-Run -Name 'a log on a full disk' -Run $run -Code 0 -Text 'without a copy'
    $size = [IO.FileInfo]::new($log).Length
    $holds = $size -eq 0 -and [IO.File]::ReadAllText("$log.1").StartsWith('4')
    Assert-That -Name 'is emptied, and the copy before stays' -Holds $holds -Detail $run.text

    # Of the scripts themselves.
    $own = "$world/C/imagegen/state/errors.log"
    [IO.File]::WriteAllText($own, 'x' * 2097152)
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
    Assert-Run -Name 'a large log of failures' -Run $run -Code 0
    $sizes = @(foreach ($name in $own, "$own.1") { [IO.FileInfo]::new($name).Length }) -join ' '
    Assert-That -Name 'is emptied after a copy' -Holds ($sizes -eq '0 2097152') -Detail $sizes
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

# What stands in the way of a node's scripts. Loaded by run.ps1.

# A folder that cannot be emptied: what joined the node is gone before.
function Test-CutReset {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $joined = "$world/C/etc/kubernetes/kubelet.conf"
    foreach ($file in $joined, "$world/C/run/flannel/odd") { [IO.File]::WriteAllText($file, 'x') }
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = '' }
    Set-Simulation -Area 'files' -Name 'odd' -Value 'locked'
    Assert-Run -Name 'a reset that is cut off' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 1
    Assert-That -Name 'the node has left its cluster' -Holds (-not [IO.File]::Exists($joined))
    Set-Simulation -Area 'files' -Name 'odd' -Value $null
    Assert-Run -Name 'the next reset' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    $left = @(Get-ChildItem -LiteralPath "$world/C/run/flannel" -Force)
    Assert-That -Name 'empties the folder' -Holds ($left.Count -eq 0) -Detail $left
}

# A copy of a log that is marked as read-only, and a log whose name leaves no room for another word.
function Test-OddLog {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $log = "$world/C/var/log/kubelet/kubelet.log"
    foreach ($number in 1, 2, 3) {
        [IO.File]::WriteAllText("$log.$number", "$number")
        [IO.File]::SetAttributes("$log.$number", [IO.FileAttributes]::ReadOnly)
    }
    [IO.File]::WriteAllText($log, 'x' * 2097152)
    $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
    Assert-Run -Name 'a log with copies that are read-only' -Run $run -Code 0 -Text 'kubelet.log is emptied'
    $told = @(foreach ($number in 2, 3) { [IO.File]::ReadAllText("$log.$number") }) -join ' '
    Assert-That -Name 'its copies move on' -Holds ($told -eq '1 2') -Detail $told

    $name = ('n' * 247) + '.log'
    [IO.File]::WriteAllText("$world/C/var/log/kubelet/$name", 'of a pod')
    $with = @{ Destination = "$world/C/odd.zip" }
    $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
    Assert-Run -Name 'a diagnosis with a long name' -Run $run -Code 0
    $zip = [IO.Compression.ZipFile]::OpenRead($with.Destination)
    try {
        $entry = $zip.GetEntry("log/kubelet/$name")
        $reader = New-Object -TypeName IO.StreamReader -ArgumentList $entry.Open()
        $told = $reader.ReadToEnd()
    } finally {
        $zip.Dispose()
    }
    Assert-That -Name 'it has the log' -Holds ($told -ceq 'of a pod') -Detail $told
}

# What stands in the way of a node's scripts.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# A folder that cannot be emptied: what joined the node is gone before.
Describe 'CutReset' -Tag 'node' {
    It 'what joined the node goes before folders are emptied' {
        $world = New-NodeWorld
        $joined = "$world/C/etc/kubernetes/kubelet.conf"
        foreach ($file in $joined, "$world/C/run/flannel/odd") { [IO.File]::WriteAllText($file, 'x') }
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = '' }
        Set-Simulation -Area 'files' -Name 'odd' -Value 'locked'
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 1
        (-not [IO.File]::Exists($joined)) | Should -BeTrue -Because 'the node has left its cluster'
        Set-Simulation -Area 'files' -Name 'odd' -Value $null
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
        $left = @(Get-ChildItem -LiteralPath "$world/C/run/flannel" -Force)
        ($left.Count -eq 0) | Should -BeTrue -Because "empties the folder: $($left)"
    }
}

# A copy of a log that is marked as read-only, and a log whose name leaves no room for another word.
Describe 'OddLog' -Tag 'node' {
    It 'odd names and marks keep no log and no diagnosis' {
        $world = New-NodeWorld
        $log = "$world/C/var/log/kubelet/kubelet.log"
        foreach ($number in 1, 2, 3) {
            [IO.File]::WriteAllText("$log.$number", "$number")
            [IO.File]::SetAttributes("$log.$number", [IO.FileAttributes]::ReadOnly)
        }
        [IO.File]::WriteAllText($log, 'x' * 2097152)
        $run = Invoke-NodeScript -World $world -Name 'Limit-Log' -With @{ MaximumMegabytes = 1 }
        Assert-Run -Run $run -Code 0 -Text 'kubelet.log is emptied'
        $told = @(foreach ($number in 2, 3) { [IO.File]::ReadAllText("$log.$number") }) -join ' '
        ($told -eq '1 2') | Should -BeTrue -Because "its copies move on: $($told)"

        $name = ('n' * 247) + '.log'
        [IO.File]::WriteAllText("$world/C/var/log/kubelet/$name", 'of a pod')
        $with = @{ Destination = "$world/C/odd.zip" }
        $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
        Assert-Run -Run $run -Code 0
        $zip = [IO.Compression.ZipFile]::OpenRead($with.Destination)
        try {
            $entry = $zip.GetEntry("log/kubelet/$name")
            $reader = New-Object -TypeName IO.StreamReader -ArgumentList $entry.Open()
            $told = $reader.ReadToEnd()
        } finally {
            $zip.Dispose()
        }
        ($told -ceq 'of a pod') | Should -BeTrue -Because "it has the log: $($told)"
    }
}

# What a node's scripts do with its files: what a reset empties, and logs that are kept small. Test-Plan or
# Test-Install has put a payload in place.

# A script of the node in a process of its own, as a task starts it.
function Invoke-NodeScript {
    param([string] $Name, [string[]] $Words = @())
    $words = @('-Platform', $script:Platform) + $Words
    $process = Start-Shell -File "C:\imagegen\node\$Name.ps1" -Words $words
    if (-not $process.WaitForExit(60000)) {
        $process.Kill()
        return 'time limit'
    }
    $process.ExitCode
}

function Test-Log {
    $facts = [IO.File]::ReadAllText('C:\imagegen\node.conf')
    $top = [regex]::Match($facts, '(?m)^log=(.+?)\r?$').Groups[1].Value
    $log = "$top\kubelet\kubelet.log"
    $held = "$top\containerd\containerd.log"
    foreach ($path in $log, $held, "$top\kubelet\old.log", "$top\pods\own\pod.log") {
        Write-Text -Path $path -Text ('line of a log' * 200000)
    }
    [IO.File]::SetLastWriteTimeUtc("$top\kubelet\old.log", [DateTime]::UtcNow.AddDays(-40))
    Write-Text -Path "$top\kubelet\old.txt" -Text 'old'
    [IO.File]::SetLastWriteTimeUtc("$top\kubelet\old.txt", [DateTime]::UtcNow.AddDays(-40))
    # As a service keeps its log.
    $stream = [IO.File]::Open($held, 'Open', 'Write', 'ReadWrite')
    try {
        $code = Invoke-NodeScript -Name 'Limit-Log' -Words '-MaximumMegabytes', '1', '-Days', '30'
    } finally {
        $stream.Dispose()
    }
    Assert-That -Name 'Limit-Log ends' -Holds ($code -eq 0) -Detail $code
    foreach ($path in $log, $held) {
        $lengths = @($path, "$path.1" | Where-Object { [IO.File]::Exists($_) } |
                ForEach-Object { (Get-Item -LiteralPath $_).Length })
        $holds = $lengths.Count -eq 2 -and $lengths[0] -eq 0 -and $lengths[1] -eq 2600000
        Assert-That -Name "$path is emptied after a copy" -Holds $holds -Detail ($lengths -join ', ')
    }
    Assert-That -Name 'an old file goes' -Holds (-not [IO.File]::Exists("$top\kubelet\old.txt"))
    $length = (Get-Item -LiteralPath "$top\pods\own\pod.log").Length
    Assert-That -Name 'logs of pods are the kubelet''s' -Holds ($length -eq 2600000) -Detail $length
}

# Reset-Node as a person starts it: services of Wine's own manager, a kubeadm that ends well, what a join and pods
# left behind, and what somebody changed of the plan.
function Test-ResetNode {
    foreach ($name in 'kubelet', 'containerd') {
        New-ServiceEntry -Name $name -CommandLine 'C:\windows\system32\spoolsv.exe'
        Request-ServiceState -Name $name -State 'running'
    }
    $restart = @(@{ action = 'restart'; delaySeconds = 60 })
    Set-ServiceFailure -Name 'kubelet' -ResetSeconds 900 -Actions $restart
    $key = Get-ServiceKey -Name 'kubelet'
    $failure = (Get-RegistryValue -Key $key -Name 'FailureActions').data
    $facts = [IO.File]::ReadAllLines('C:\imagegen\node.conf')
    $read = { param($Name) $facts -like "$Name=*" | ForEach-Object { $_.Substring($Name.Length + 1) } }
    # A program of Wine that does nothing and ends well, whatever it is asked.
    [IO.File]::Copy('C:\windows\system32\icacls.exe', (& $read 'kubeadm'), $true)
    foreach ($path in @(& $read 'joined') + (& $read 'arguments')) { Write-Text -Path $path -Text 'of a join' }
    # Names that only their whole path tells, and a file that is read-only.
    foreach ($folder in & $read 'empty') {
        foreach ($path in 'plain', 'x [1]', 'two\inner' | ForEach-Object { "$folder\pods\$_\left.txt" }) {
            Write-Text -Path $path -Text 'of a pod'
            [IO.File]::SetAttributes($path, 'ReadOnly')
        }
    }
    Write-Text -Path "$(& $read 'empty' | Select-Object -Last 1)\config.yaml" -Text 'of a join'

    $code = Invoke-NodeScript -Name 'Reset-Node' -Words '-TimeoutSeconds', '50'
    $log = @(Get-ChildItem -LiteralPath 'C:\imagegen' -Filter '*.log' | ForEach-Object {
            [IO.File]::ReadAllLines($_.FullName) | Select-Object -Last 6 })
    Assert-That -Name 'Reset-Node ends' -Holds ($code -eq 0) -Detail "$code $($log -join '; ')"
    $left = @(@(& $read 'joined') + (& $read 'arguments') | Where-Object { [IO.File]::Exists($_) })
    Assert-That -Name 'nothing joins the node again' -Holds ($left.Count -eq 0) -Detail ($left -join ', ')
    $left = @(foreach ($folder in & $read 'empty') {
            Get-ChildItem -LiteralPath $folder -Recurse -Filter 'left.txt' | ForEach-Object { $_.FullName }
        })
    Assert-That -Name 'folders of pods are empty' -Holds ($left.Count -eq 0) -Detail ($left -join ', ')
    $states = @('kubelet', 'containerd' | ForEach-Object { (Get-ServiceConfig -Name $_).state })
    $holds = ($states -join ' ') -eq 'stopped running'
    Assert-That -Name 'the kubelet is stopped, the runtime runs' -Holds $holds -Detail ($states -join ' ')
    $after = (Get-RegistryValue -Key $key -Name 'FailureActions').data
    Assert-That -Name 'recovery actions are as before' -Holds ($after -ceq $failure) -Detail $after
    # The kubeadm of the plan is there again.
    $code = Invoke-NodeScript -Name 'Test-Node'
    Assert-That -Name 'the machine is as planned again' -Holds ($code -eq 0) -Detail $code
    foreach ($name in 'kubelet', 'containerd') {
        Request-ServiceState -Name $name -State 'stopped'
        Remove-ServiceEntry -Name $name
    }
}

function Test-Node {
    . 'C:\imagegen\engine\Tools.ps1'
    . $script:Platform
    Start-Deadline -Name 'the node' -Seconds 120
    Test-Log
    Test-ResetNode
}

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

# What a reset empties: files and folders that only their whole path names, and one that is read-only.
function Test-Reset {
    Import-Module -Name 'C:\imagegen\node\Node.psm1' -ArgumentList $script:Platform, 'C:\imagegen' -Force
    $module = Get-Module -Name 'Node'
    $folder = 'C:\var\lib\kubelet\pods'
    # Wine tells the final path of a handle up to 260 characters.
    foreach ($path in "$folder\one\plain.txt", "$folder\x [1]\brackets.txt", "$folder\two\inner\deep.txt") {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
        [IO.File]::WriteAllText($path, 'x')
    }
    [IO.File]::SetAttributes("$folder\one\plain.txt", 'ReadOnly')
    $said = ''
    try {
        & $module {
            param($Path)
            Start-Deadline -Name 'reset' -Seconds 30
            Clear-Folder -Path $Path
        } $folder
    } catch {
        $said = "$_"
    }
    $left = @([IO.Directory]::GetFileSystemEntries($folder))
    Assert-That -Name 'the folder is empty' -Holds ($said -eq '' -and $left.Count -eq 0) -Detail "$said $left"
}

function Test-Node {
    Test-Log
    Test-Reset
}

# Logs of the node's services, which write them without an end. Loaded by Node.psm1.

# The folder of logs. Pods that mount it may write there whatever they like, also links.
function Get-LogFolder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    Resolve-NativePath -Path "$($Facts.log)"
}

# Files below the folder of logs that are not those of pods. A link is left alone: it may lead to any file. What is
# a file here may be another one when it is opened, so it is opened by Open-PlainFile.
function Get-ServiceLog {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    $top = Get-LogFolder -Facts $Facts
    if (-not (Test-Path -LiteralPath $top -PathType Container)) { return }
    foreach ($folder in Get-ChildItem -LiteralPath $top -Directory) {
        if ($folder.Name -in 'pods', 'containers' -or (Test-Link -Item $folder)) { continue }
        Get-ChildItem -LiteralPath $folder.FullName -File | Where-Object { -not (Test-Link -Item $_) }
    }
}

# The length of a log that is open: an entry of a folder has the one that the file had when it was closed last
# (https://devblogs.microsoft.com/oldnewthing/20111226-00/?p=8813), and services never close theirs.
function Get-LogLength {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below)
    $log = Open-PlainFile -Path $Path -Below $Below -Access 'Read'
    try { $log.Length } finally { $log.Dispose() }
}

# Empties a log where it is, after a copy of it where copies are kept. While the log is open, its folder stays the
# one that it is.
function Clear-Log {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below,
        [Parameter(Mandatory)] [int] $Keep)
    $log = Open-PlainFile -Path $Path -Below $Below -Access 'ReadWrite'
    try {
        for ($i = $Keep; $i -gt 0; $i--) {
            # A link that leads to nothing is there as well.
            $isThere = [int](New-Object -TypeName IO.FileInfo -ArgumentList "$Path.$i").Attributes -ne -1
            if ($isThere) { Remove-PlainItem -Path "$Path.$i" -Below $Below }
            $older = "$Path.$($i - 1)"
            if ($i -gt 1 -and [IO.File]::Exists($older)) { Move-File -From $older -To "$Path.$i" }
        }
        if ($Keep -gt 0) {
            $copy = Open-PlainFile -Path "$Path.1" -Below $Below -Access 'Write'
            try { $log.CopyTo($copy) } finally { $copy.Dispose() }
        }
        $log.SetLength(0)
    } finally {
        $log.Dispose()
    }
}

# Logs of this project's own scripts. A task that fails each minute would fill the disk with them.
function Get-OwnLog {
    [CmdletBinding()]
    param()
    $names = 'journal.jsonl', 'install.log', 'state/node.log', 'state/errors.log', 'state/firstboot.log'
    foreach ($name in $names) {
        $path = Join-Path -Path $script:Root -ChildPath $name
        if ([IO.File]::Exists($path)) { $path }
    }
}

# Empties a log that has grown too large, and says whether it did. One that cannot be touched must not keep the
# others. One that fills the disk leaves no room for a copy.
function Limit-LogLength {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below,
        [Parameter(Mandatory)] [long] $Most, [Parameter(Mandatory)] [int] $Keep)
    try {
        if ((Get-LogLength -Path $Path -Below $Below) -le $Most) { return $false }
        $kept = "its end is in $([IO.Path]::GetFileName($Path)).1"
        if ((Get-FreeSpace) -lt (Get-LogLength -Path $Path -Below $Below)) {
            $Keep = 0
            $kept = 'without a copy, for which the disk has no room'
        }
        Clear-Log -Path $Path -Below $Below -Keep $Keep
        Write-NodeLine -Text "$Path is emptied, $kept"
        return $true
    } catch {
        Write-NodeLine -Text "$Path is not emptied: $($_.Exception.Message)"
    }
    $false
}

# The length comes before the age: while a service keeps its log open, the time of the last write stands still
# (https://learn.microsoft.com/windows/win32/sysinfo/file-times), and a file that is open is not removed.
function Limit-NodeLog {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Megabytes, [Parameter(Mandatory)] [int] $Keep,
        [Parameter(Mandatory)] [int] $Days)
    $until = [DateTime]::UtcNow.AddDays(-$Days)
    $size = @{ Most = [long]$Megabytes * 1048576; Keep = $Keep }
    $facts = Get-NodeFact
    $top = Get-LogFolder -Facts $facts
    foreach ($log in @(Get-ServiceLog -Facts $facts)) {
        $isLog = $log.Extension -eq '.log'
        if ($isLog -and (Limit-LogLength -Path $log.FullName -Below $top @size)) { continue }
        if ($log.LastWriteTimeUtc -ge $until) { continue }
        try {
            Remove-PlainItem -Path $log.FullName -Below $top
        } catch {
            Write-NodeLine -Text "$($log.FullName) is left as it is: $($_.Exception.Message)"
        }
    }
    foreach ($path in @(Get-OwnLog)) { $null = Limit-LogLength -Path $path -Below $script:Root @size }
}

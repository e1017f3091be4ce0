# Logs of the node's services, which write them without an end. Loaded by Node.psm1.

# Files below the folder of logs that are not those of pods. A link is left alone: it may lead to any file.
function Get-ServiceLog {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    if (-not (Test-Path -LiteralPath "$($Facts.log)" -PathType Container)) { return }
    foreach ($folder in Get-ChildItem -LiteralPath "$($Facts.log)" -Directory) {
        if ($folder.Name -in 'pods', 'containers' -or (Test-Link -Item $folder)) { continue }
        Get-ChildItem -LiteralPath $folder.FullName -File | Where-Object { -not (Test-Link -Item $_) }
    }
}

# Empties a log where it is, after a copy of it.
function Clear-Log {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [int] $Keep)
    for ($i = $Keep; $i -gt 1; $i--) {
        $copy = "$Path.$($i - 1)"
        if ([IO.File]::Exists($copy)) { Move-File -From $copy -To "$Path.$i" }
    }
    $share = [IO.FileShare]::ReadWrite -bor [IO.FileShare]::Delete
    $log = [IO.File]::Open($Path, 'Open', 'ReadWrite', $share)
    try {
        $copy = [IO.File]::Create("$Path.1")
        try { $log.CopyTo($copy) } finally { $copy.Dispose() }
        $log.SetLength(0)
    } finally {
        $log.Dispose()
    }
}

function Limit-NodeLog {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Megabytes, [Parameter(Mandatory)] [int] $Keep,
        [Parameter(Mandatory)] [int] $Days)
    $until = [DateTime]::UtcNow.AddDays(-$Days)
    $most = [long]$Megabytes * 1048576
    foreach ($log in @(Get-ServiceLog -Facts (Get-NodeFact))) {
        # One that cannot be touched must not keep the others.
        try {
            if ($log.LastWriteTimeUtc -lt $until) {
                [IO.File]::Delete($log.FullName)
            } elseif ($log.Extension -eq '.log' -and $log.Length -gt $most) {
                Clear-Log -Path $log.FullName -Keep $Keep
                Write-NodeLine -Text "$($log.FullName) is emptied, its end is in $($log.Name).1"
            }
        } catch {
            Write-NodeLine -Text "$($log.FullName) is left as it is: $($_.Exception.Message)"
        }
    }
}

# Files: paths, digests, replacement in one step, members of archives. Loaded by Tools.ps1.

# .NET and native programs know nothing of PowerShell's drives: on Windows this changes nothing, a simulation
# mounts its drive C: somewhere else.
function Resolve-NativePath {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

# A file for reading while others may write to it or delete it.
function Open-SharedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $share = [IO.FileShare]::ReadWrite -bor [IO.FileShare]::Delete
    [IO.File]::Open((Resolve-NativePath -Path $Path), 'Open', 'Read', $share)
}

# Lower-case digest of a file, $null when there is none.
function Get-Digest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [string] $Algorithm = 'SHA256')
    if (-not (Test-Path -LiteralPath $Path -PathType Leaf)) { return $null }
    $stream = Open-SharedFile -Path $Path
    try {
        (Get-FileHash -InputStream $stream -Algorithm $Algorithm -ErrorAction Stop).Hash.ToLowerInvariant()
    } finally {
        $stream.Dispose()
    }
}

# The value of the variable in a file of one line, NAME="...", whose backslashes and quotes are escaped, as kubeadm
# writes it, and with what start-service.cmd overlooks, too: `export`, blanks, and a byte order mark, which
# ReadAllText takes away. Nothing while there is no such file; half a line is refused, because somebody is still
# writing it.
function Read-Argument {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Variable)
    if (-not (Test-Path -LiteralPath $Path -PathType Leaf)) { return '' }
    $text = [IO.File]::ReadAllText((Resolve-NativePath -Path $Path))
    $name = [regex]::Escape($Variable)
    $form = '\A[ \t]*(?:export[ \t]+)?{0}="((?:[^"\\\r\n]|\\["\\])*)"[ \t]*\r?\n\z' -f $name
    if ($text -cnotmatch $form) { throw "$Path is not one whole line $Variable=`"...`"" }
    $Matches[1] -creplace '\\(["\\])', '$1'
}

# Lower-case SHA-256 of bytes. Not by SHA256.Create, which a machine that keeps to FIPS refuses.
function Get-ByteDigest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [byte[]] $Bytes)
    $stream = New-Object -TypeName IO.MemoryStream -ArgumentList (, $Bytes)
    (Get-FileHash -InputStream $stream -Algorithm SHA256 -ErrorAction Stop).Hash.ToLowerInvariant()
}

# Does something with files. Scanners and programs that are ending hold a file for a moment, so it is tried again
# for some seconds (as golang/go@8aaaa36 src/cmd/internal/robustio/robustio_windows.go).
function Invoke-FileAction {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [scriptblock] $Action)
    $held = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            return & $Action
        } catch {
            $cause = $_.Exception.GetBaseException()
            $isHeld = $cause -is [IO.IOException] -or $cause -is [UnauthorizedAccessException]
            if (-not $isHeld -or $held.Elapsed.TotalSeconds -ge 5) { throw }
        }
        Start-Sleep -Milliseconds 250
    }
}

# tar.exe marks members as read-only that their owner could not write, copies keep the mark, and Windows neither
# replaces nor deletes such a file (libarchive/libarchive@0483f5d libarchive/archive_write_disk_windows.c,
# la_chmod).
function Clear-ReadOnly {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    if (-not [IO.File]::Exists($Path)) { return }
    $isMarked = ([IO.File]::GetAttributes($Path) -band [IO.FileAttributes]::ReadOnly) -ne 0
    if ($isMarked) { [IO.File]::SetAttributes($Path, [IO.FileAttributes]::Normal) }
}

# A copy that can be written to and replaced.
function Copy-File {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $From, [Parameter(Mandatory)] [string] $To)
    [IO.File]::Copy($From, $To, $true)
    Clear-ReadOnly -Path $To
}

# A file appears under its final name only by a move within its folder, where it also inherited its access.
function Move-Partial {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    $native = Resolve-NativePath -Path $Target
    try {
        Clear-ReadOnly -Path $native
        Invoke-FileAction -Action { Move-File -From "$native.partial" -To $native }
    } catch {
        if ([IO.File]::Exists("$native.partial")) { [IO.File]::Delete("$native.partial") }
        throw "$Target cannot be replaced: $($_.Exception.GetBaseException().Message)"
    }
}

# The place where a file grows before Move-Partial; its folder is made. A file that lies there would keep the owner
# and the access that whoever made it gave it, and a hard link would be written through.
function New-Partial {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    $native = Resolve-NativePath -Path $Target
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($native))
    Clear-ReadOnly -Path "$native.partial"
    [IO.File]::Delete("$native.partial")
    "$native.partial"
}

# Whether a file or folder is a symbolic link, a junction or another reparse point.
function Test-Link {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [IO.FileSystemInfo] $Item)
    ($Item.Attributes -band [IO.FileAttributes]::ReparsePoint) -ne 0
}

# A file, or a folder with all that is in it. A link goes and what it leads to stays: Remove-Item -Recurse of 5.1
# walks through links to folders.
function Remove-Tree {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $native = Resolve-NativePath -Path $Path
    $item = Get-Item -LiteralPath $native -Force
    if ($item.PSIsContainer -and -not (Test-Link -Item $item)) { Clear-Folder -Path $native }
    $folder = [IO.Path]::GetDirectoryName($native)
    Invoke-FileAction -Action { Remove-PlainItem -Path $native -Below $folder }
}

# Takes a folder's content away; the folder keeps its access. Volumes of pods may be among the content: a pod may
# put a link there meanwhile, and names that only `\\?\` leads to, such as `nul` and `x.`.
function Clear-Folder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $top = Resolve-NativePath -Path $Path
    if (Test-Path -LiteralPath $top -PathType Container) { Remove-Content -Path $top -Below $top }
}

function Remove-Content {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below)
    foreach ($entry in @(Get-FolderEntry -Path $Path)) {
        $inner = "$Path/$($entry.name)"
        if ($entry.isFolder -and -not $entry.isLink) { Remove-Content -Path $inner -Below $Below }
        # A file that a scanner holds stays in its folder until it lets go.
        Invoke-FileAction -Action { Remove-PlainItem -Path $inner -Below $Below }
    }
}

# UTF-8 without byte order mark, line ends as given. On the disk before it gets its name: NTFS keeps names, and not
# bytes, of what is written when the power goes.
function Write-TextFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [AllowEmptyString()] [string] $Content)
    $encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
    $bytes = $encoding.GetBytes($Content)
    $stream = [IO.File]::Create((New-Partial -Target $Path))
    try {
        $stream.Write($bytes, 0, $bytes.Length)
        $stream.Flush($true)
    } finally {
        $stream.Dispose()
    }
    Move-Partial -Target $Path
}

# A line at the end of a log that another run may write to at this moment.
function Add-LogLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Line)
    Invoke-FileAction -Action { [IO.File]::AppendAllText($Path, "$Line`n") }
}

# The digest that a member had when its archive was verified; nothing in a preview, which was made without its
# bytes.
function Get-MemberDigest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [object] $Item)
    $property = $Item.PSObject.Properties['sha256']
    if ($null -ne $property) { $property.Value }
}

# What was verified is what was unpacked, whatever the archive says to another reader.
function Confirm-Member {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [object] $Item, [Parameter(Mandatory)] [string] $Partial)
    $pinned = Get-MemberDigest -Item $Item
    if ($null -eq $pinned) { return }
    $found = Get-Digest -Path $Partial
    if ($found -cne $pinned) {
        [IO.File]::Delete($Partial)
        throw "$($Item.member): the digest of the unpacked file is $found, pinned is $pinned"
    }
}

function Copy-ZipMember {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Archive, [Parameter(Mandatory)] [object[]] $Members)
    Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
    $zip = [IO.Compression.ZipFile]::OpenRead((Resolve-NativePath -Path $Archive))
    try {
        foreach ($item in $Members) {
            $null = Get-TimeLeft -Doing "taking $($item.member) out of $Archive"
            $entry = $zip.GetEntry($item.member)
            if ($null -eq $entry) { throw "$Archive holds no $($item.member)" }
            $partial = New-Partial -Target $item.path
            [IO.Compression.ZipFileExtensions]::ExtractToFile($entry, $partial, $true)
            Confirm-Member -Item $item -Partial $partial
            Move-Partial -Target $item.path
        }
    } finally {
        $zip.Dispose()
    }
}

# Copied out of the unpacking folder, not moved: a moved file keeps the access of the folder it came from.
function Copy-TarMember {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Archive, [Parameter(Mandatory)] [object[]] $Members)
    $source = Resolve-NativePath -Path $Archive
    $folder = "$source.d"
    $null = [IO.Directory]::CreateDirectory($folder)
    try {
        Expand-TarMember -Archive $source -Destination $folder -Members @($Members | ForEach-Object { $_.member })
        foreach ($item in $Members) {
            $found = "$folder/$($item.member)"
            if (-not [IO.File]::Exists($found)) { throw "$Archive holds no $($item.member)" }
            $partial = New-Partial -Target $item.path
            Copy-File -From $found -To $partial
            Confirm-Member -Item $item -Partial $partial
            Move-Partial -Target $item.path
        }
    } finally {
        Remove-Tree -Path $folder
    }
}

# Files by handle: what is opened is the file itself, and never what a link in its place leads to.

# A folder in the area `swaps` is replaced by a link at the moment when something in it is opened, as a pod could
# do that waits for it.
function Invoke-Swap {
    [CmdletBinding()]
    param([string] $Path)
    $folder = [IO.Path]::GetDirectoryName($Path)
    $target = Get-Simulation -Area 'swaps' -Name $folder
    if ($null -eq $target) { return }
    Set-Simulation -Area 'swaps' -Name $folder -Value $null
    [IO.Directory]::Move($folder, "$folder.away")
    $null = New-Item -ItemType SymbolicLink -Path $folder -Value $target
}

# No folder between the two is a link.
function Confirm-PlainPath {
    [CmdletBinding()]
    param([string] $Path, [string] $Below)
    Invoke-Swap -Path $Path
    $whole = [IO.Path]::GetFullPath($Path)
    $start = [IO.Path]::GetFullPath($Below).TrimEnd('/')
    if (-not $whole.StartsWith("$start/", [StringComparison]::Ordinal)) { throw "$Path is not in $Below" }
    $folder = [IO.Path]::GetDirectoryName($whole)
    while ($folder.Length -gt $start.Length) {
        $item = Get-Item -LiteralPath $folder -Force
        if (Test-Link -Item $item) { throw "$Path leads elsewhere and is left alone" }
        $folder = [IO.Path]::GetDirectoryName($folder)
    }
}

function Open-PlainFile {
    [CmdletBinding()]
    param([string] $Path, [string] $Below, [string] $Access)
    Confirm-PlainPath -Path $Path -Below $Below
    if ($Access -eq 'Write') { return [IO.File]::Open($Path, 'CreateNew', 'Write', 'None') }
    $item = Get-Item -LiteralPath $Path -Force
    if ((Test-Link -Item $item) -or $item.PSIsContainer) { throw "$Path is a link or a folder and is left alone" }
    if ("$($item.LinkType)" -eq 'HardLink') { throw "$Path has 2 names and is left alone" }
    [IO.File]::Open($Path, 'Open', $Access, ([IO.FileShare]::ReadWrite -bor [IO.FileShare]::Delete))
}

# On Windows by names that .NET would change; here it changes none.
function Get-FolderEntry {
    [CmdletBinding()]
    param([string] $Path)
    foreach ($item in Get-ChildItem -LiteralPath $Path -Force) {
        @{ name = $item.Name; isFolder = $item.PSIsContainer; isLink = (Test-Link -Item $item) }
    }
}

function Remove-PlainItem {
    [CmdletBinding()]
    param([string] $Path, [string] $Below)
    Confirm-Free -Path $Path
    Confirm-PlainPath -Path $Path -Below $Below
    $item = New-Object -TypeName IO.FileInfo -ArgumentList $Path
    $isFolder = ($item.Attributes -band [IO.FileAttributes]::Directory) -ne 0
    if ($isFolder) { [IO.Directory]::Delete($Path, $false) } else { [IO.File]::Delete($Path) }
}

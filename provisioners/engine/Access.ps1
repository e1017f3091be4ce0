# Who may write, by the text of an access list. Loaded by Tools.ps1.

# Rights of files and folders by their letters
# (https://learn.microsoft.com/windows/win32/secauthz/ace-strings,
# https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants).
$script:Rights = @{
    CC = 0x1; DC = 0x2; LC = 0x4; SW = 0x8; RP = 0x10; WP = 0x20; DT = 0x40; LO = 0x80; CR = 0x100
    SD = 0x10000; RC = 0x20000; WD = 0x40000; WO = 0x80000; GA = 0x10000000; GW = 0x40000000; GR = 0; GX = 0
    FA = 0x1f01ff; FW = 0x120116; FR = 0x120089; FX = 0x1200a0
}
# Into a folder or a file, or its access list: write, append, extended and plain attributes, delete, own.
$script:Writing = 0x500d0156
# A folder above it: the one below can be taken away, so that another one has its name.
$script:Replacing = 0x100d0040

# SYSTEM, Administrators, the built-in administrator, those of a domain and of a forest, TrustedInstaller; the
# owner, who is asked for by itself.
function Test-TrustedAccount {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Account)
    $names = 'SY|BA|LA|DA|EA|OW|S-1-5-18|S-1-5-32-544|S-1-3-4'
    $installer = 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464'
    $Account -cmatch "\A(?:$names|$installer|S-1-5-21-[0-9-]+-(?:500|512|519))\z"
}

# The number of rights such as `FA`, `SDGXGWGR` or `0x1301bf`.
function ConvertTo-RightMask {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    if ($Text -cmatch '\A0x([0-9a-fA-F]{1,8})\z') { return [Convert]::ToInt64($Matches[1], 16) }
    [long]$mask = 0
    foreach ($letters in [regex]::Matches($Text, '..')) {
        # Letters that nobody knows may be any right.
        $right = $script:Writing
        if ($script:Rights.ContainsKey($letters.Value)) { $right = $script:Rights[$letters.Value] }
        $mask = $mask -bor $right
    }
    $mask
}

# Accounts besides administrators that have one of some rights by an access list, the owner first. A right that is
# refused elsewhere in the list counts as given.
function Select-Grantee {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Sddl, [Parameter(Mandatory)] [long] $Mask)
    $owner = ''
    if ($Sddl -cmatch '\AO:(.+?)(?=G:|D:|\z)') { $owner = $Matches[1] }
    if ($owner -and -not (Test-TrustedAccount -Account $owner)) { $owner }
    $at = $Sddl.IndexOf('D:', [StringComparison]::Ordinal)
    if ($at -lt 0 -or $Sddl.Contains('NO_ACCESS_CONTROL')) { return 'everybody' }
    foreach ($entry in [regex]::Matches($Sddl.Substring($at), '\(([A-Z]+;[^()]*)')) {
        $fields = $entry.Groups[1].Value.Split(';')
        if ($fields.Count -lt 6) { return 'everybody' }
        $flags = @([regex]::Matches($fields[1], '..') | ForEach-Object { $_.Value })
        # One that refuses, and one that is for what will be made in a folder.
        if ($fields[0].StartsWith('D', [StringComparison]::Ordinal) -or $flags -ccontains 'IO') { continue }
        if (((ConvertTo-RightMask -Text $fields[2]) -band $Mask) -eq 0) { continue }
        if (-not (Test-TrustedAccount -Account $fields[5])) { $fields[5] }
    }
}

# Who has one of some rights to a place, as a text; nothing where administrators alone have.
function Get-PlaceWriter {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [long] $Mask, [string[]] $Trusted = @())
    $found = @(Select-Grantee -Sddl "$(Get-Sddl -Path $Path)" -Mask $Mask)
    $others = @($found | Where-Object { $_ -notin $Trusted } | Select-Object -Unique)
    if ($others.Count -gt 0) { "$Path may be written by $($others -join ', ')" }
}

# Who besides administrators may change a file or folder, or put another one in its place: one text for each place.
# A path that is not there is asked for by what is above it.
function Get-Writer {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [string[]] $Trusted = @())
    $place = $Path
    $mask = $script:Writing
    while ($place) {
        if (Test-Path -LiteralPath $place) { Get-PlaceWriter -Path $place -Mask $mask -Trusted $Trusted }
        $mask = $script:Replacing
        $above = "$(Split-Path -LiteralPath $place)"
        if ($above.Length -ge $place.Length) { return }
        $place = $above
    }
}

# Who besides administrators may change a folder or some of what is in it. Nobody writes to a disc.
function Get-TreeWriter {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string[]] $Names,
        [string[]] $Trusted = @())
    $drive = [IO.Path]::GetPathRoot($Path)
    $hasLetter = $drive -match '^[A-Za-z]:'
    if ($hasLetter -and (New-Object -TypeName IO.DriveInfo -ArgumentList $drive).DriveType -eq 'CDRom') { return }
    Get-Writer -Path $Path -Trusted $Trusted
    foreach ($name in $Names) {
        $top = Join-Path -Path $Path -ChildPath $name
        if (-not (Test-Path -LiteralPath $top)) { continue }
        Get-PlaceWriter -Path $top -Mask $script:Writing -Trusted $Trusted
        if (-not (Test-Path -LiteralPath $top -PathType Container)) { continue }
        foreach ($item in Get-ChildItem -LiteralPath $top -Recurse -Force) {
            Get-PlaceWriter -Path $item.FullName -Mask $script:Writing -Trusted $Trusted
        }
    }
}

# Before something that lies there is run or loaded by an account that may do more than those who can write there.
function Assert-Closed {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string[]] $Path)
    foreach ($one in $Path) {
        foreach ($text in @(Get-Writer -Path $one)) {
            throw "${text}: it runs as SYSTEM, so set its rights back, or make the node anew from its image"
        }
    }
}

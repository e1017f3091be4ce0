# Downloads, archives, access rights and links.

function Get-DownloadCommand {
    [CmdletBinding()]
    param([string] $Url, [string] $Path)
    # Not by [uri], whose errors name the whole URL.
    $protocol = @{ https = '=https'; http = '=http'; file = '=file' }[$Url.Split(':')[0].ToLowerInvariant()]
    if (-not $protocol) { throw 'the URL of a download begins with neither https:, http: nor file:' }
    # No --location: Downloads.ps1 follows redirects. No user's configuration file, nothing of a URL is a pattern.
    $arguments = @('--disable', '--globoff', '--fail', '--silent', '--show-error', '--proto', $protocol)
    $arguments += @('--write-out', '%{redirect_url}', '--retry', '5', '--connect-timeout', '30')
    $arguments += @('--speed-time', '60', '--speed-limit', '1024')
    # In a closed network Schannel refuses what it cannot check for revocation, unless the plan overlooks that.
    $overlooked = Get-RegistryValue -Key 'HKLM:\SOFTWARE\imagegen' -Name 'SkipRevocation'
    if ($null -ne $overlooked -and $overlooked.data -eq 1) { $arguments += @('--ssl-no-revoke') }
    $arguments += @('--output', $Path, $Url)
    @{ program = "$script:System32\curl.exe"; arguments = $arguments }
}

# Calls MoveFileEx, which replaces a file in one step. Move-Item -Force deletes the old file first, and
# [IO.File]::Replace gives the new file the access rights of the old one.
function Move-File {
    [CmdletBinding()]
    param([string] $From, [string] $To)
    Add-Type -AssemblyName 'Microsoft.VisualBasic'
    [Microsoft.VisualBasic.FileIO.FileSystem]::MoveFile($From, $To, $true)
}

function Expand-TarMember {
    [CmdletBinding()]
    param([string] $Archive, [string] $Destination, [string[]] $Members)
    # What follows -- is no option, whatever its name.
    $arguments = @('-xf', $Archive, '-C', $Destination, '--') + $Members
    $null = Invoke-Native -Program "$script:System32\tar.exe" -Arguments $arguments
}

# Files of several folders, each by its name there: folder to list of names.
function New-TarArchive {
    [CmdletBinding()]
    param([string] $Archive, [Collections.IDictionary] $Folders)
    $arguments = @('-cf', $Archive)
    foreach ($folder in $Folders.Keys) { $arguments += @('-C', $folder) + $Folders[$folder] }
    $null = Invoke-Native -Program "$script:System32\tar.exe" -Arguments $arguments
}

function Get-Sddl {
    [CmdletBinding()]
    param([string] $Path)
    (Get-Acl -LiteralPath $Path).GetSecurityDescriptorSddlForm('Owner, Group, Access')
}

function Set-Sddl {
    [CmdletBinding()]
    param([string] $Path, [string] $Sddl)
    $acl = Get-Acl -LiteralPath $Path
    $acl.SetSecurityDescriptorSddlForm($Sddl, 'Owner, Group, Access')
    Set-Acl -LiteralPath $Path -AclObject $acl
}

# 5.1 gives the target as a list, and with or without the prefix of the object manager.
function Get-LinkTarget {
    [CmdletBinding()]
    param([string] $Path)
    $item = Get-Item -LiteralPath $Path -Force -ErrorAction SilentlyContinue
    if ($null -eq $item -or $item.LinkType -ne 'SymbolicLink') { return $null }
    $target = [string]@($item.Target)[0]
    ($target -replace '^\\(\?\?|\\\?)\\', '').TrimEnd('\')
}

function New-Link {
    [CmdletBinding()]
    param([string] $Path, [string] $Target)
    $null = New-Item -ItemType SymbolicLink -Path $Path -Value $Target
}

# Remove-Item of 5.1 asks what to do with the files behind a link; this takes the link alone.
function Remove-Link {
    [CmdletBinding()]
    param([string] $Path)
    [IO.Directory]::Delete((Resolve-NativePath -Path $Path), $false)
}

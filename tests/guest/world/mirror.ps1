# What URLs of a plan give: a file of the mirror for each, whose digest the plan gets. Loaded by load.ps1.

# The comma keeps the bytes one object.
function Get-TextByte {
    param([string] $Text)
    , [Text.Encoding]::UTF8.GetBytes($Text)
}

# The bytes of an archive's member.
function Get-MemberByte {
    param($Resource, [string] $Name)
    , (Get-TextByte -Text "$Name of $($Resource.properties.url)")
}

function Get-ByteHash {
    param([byte[]] $Bytes)
    [Convert]::ToHexString([Security.Cryptography.SHA256]::HashData($Bytes)).ToLowerInvariant()
}

# The digests of an archive's members. A plan has them where the archive was read before: $All adds them to others.
function Set-MemberDigest {
    param($Resource, [switch] $All)
    if ($Resource.type -ne 'archive') { return }
    foreach ($item in $Resource.properties.members) {
        if (-not $All -and $null -eq $item.PSObject.Properties['sha256']) { continue }
        $digest = Get-ByteHash -Bytes (Get-MemberByte -Resource $Resource -Name $item.member)
        $item | Add-Member -NotePropertyName 'sha256' -NotePropertyValue $digest -Force
    }
}

# The bytes that a URL gives, as a file of the mirror. Archives hold what any resource wants of them.
function New-MirrorFile {
    param([string] $Path, $Resource, [object[]] $All)
    $url = $Resource.properties.url
    if ($Resource.type -ne 'archive') {
        [IO.File]::WriteAllBytes($Path, (Get-TextByte -Text "bytes of $url"))
        return
    }
    $folder = "$Path.d"
    $same = $All | Where-Object { $_.type -eq 'archive' -and $_.properties.url -eq $url }
    $members = @($same | ForEach-Object { $_.properties.members })
    $names = @($members | ForEach-Object { $_.member } | Sort-Object -Unique)
    foreach ($name in $names) {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$folder/$name"))
        [IO.File]::WriteAllBytes("$folder/$name", (Get-MemberByte -Resource $Resource -Name $name))
    }
    if ($Resource.properties.format -eq 'zip') {
        [IO.Compression.ZipFile]::CreateFromDirectory($folder, $Path)
    } else {
        & tar -czf $Path -C $folder @names
    }
}

# A file of the mirror for each URL; the plan gets the digests of those bytes.
function Initialize-Mirror {
    param([string] $World, [object[]] $Resources)
    $number = 0
    foreach ($resource in $Resources) {
        if ($resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { continue }
        $url = $resource.properties.url
        $file = Get-Simulation -Area 'urls' -Name $url
        if ($null -eq $file) {
            $number++
            $file = "file-$number"
            New-MirrorFile -Path "$World/mirror/$file" -Resource $resource -All $Resources
            Set-Simulation -Area 'urls' -Name $url -Value $file
        }
        $hash = Get-Digest -Path "$World/mirror/$file" -Algorithm $resource.properties.algorithm
        $resource.properties.digest = $hash
        Set-MemberDigest -Resource $resource
        if ($resource.type -eq 'msi') {
            $package = $resource.properties.cache.Split('\')[-1]
            Set-Simulation -Area 'packages' -Name $package -Value $resource.properties.creates
        }
    }
}

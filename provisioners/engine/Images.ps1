# Container images: what a store has, and content that came with the plan. Loaded by Tools.ps1.

# Parts of a reference: the name that the kubelet asks for, and the one with the digest.
function Split-ImageReference {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Reference)
    if ($Reference -cnotmatch '^([^@]+)@(sha256:[0-9a-f]{64})$') { throw "$Reference is not pinned by digest" }
    $name, $digest = $Matches[1], $Matches[2]
    # A colon before a slash is that of a port.
    $repository = $name -creplace ':[^:/]+$', ''
    $pinned = "$repository@$digest"
    if ($repository -ceq $name) { $name = $pinned }
    @{ name = $name; pinned = $pinned; digest = $digest }
}

function Invoke-ImageProgram {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [Parameter(Mandatory)] [string[]] $Arguments)
    $result = Invoke-Program -Program $Program -Arguments $Arguments
    if ($result.exitCode -ne 0) { throw "$Program exited with $($result.exitCode): $($result.output.Trim())" }
}

# Registries and networks fail for a moment: five tries, as AgentBaker@06836ee and
# kubernetes-sigs/image-builder have. A full disk stays full.
function Invoke-ImagePull {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [Parameter(Mandatory)] [string[]] $Arguments)
    for ($try = 1; $try -lt 5; $try++) {
        $result = Invoke-Program -Program $Program -Arguments $Arguments
        if ($result.exitCode -eq 0) { return }
        if ($result.output -match 'not enough space|no space left') { break }
        $null = Get-TimeLeft -Doing "$Program was pulling: $($result.output.Trim())"
        Start-Sleep -Seconds $try
    }
    Invoke-ImageProgram -Program $Program -Arguments $Arguments
}

# `images check` reads the store itself: one row per image with its name, digest and whether all of its content is
# there.
function Get-ContainerdImage {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Image, [Parameter(Mandatory)] [string] $Program,
        [Parameter(Mandatory)] [string] $Namespace)
    $arguments = @('-n', $Namespace, 'images', 'check', "name==$($Image.name)")
    $result = Invoke-Program -Program $Program -Arguments $arguments
    if ($result.exitCode -ne 0) { throw "$Program exited with $($result.exitCode): $($result.output.Trim())" }
    foreach ($line in $result.output.Split("`n")) {
        $fields = $line.Trim() -split '\s+'
        if ($fields[0] -cne $Image.name -or $fields -cnotcontains $Image.digest) { continue }
        if ($fields -ccontains 'complete') { return $Image.digest }
        return "incomplete: $($line.Trim())"
    }
}

# Docker knows the digest of what it pulled. Of what it loaded it knows the configuration alone, which the record
# has.
function Get-DockerImage {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Image, [Parameter(Mandatory)] [string] $Program)
    $result = Invoke-Program -Program $Program -Arguments @('image', 'inspect', $Image.name)
    if ($result.exitCode -ne 0) { return }
    # It may warn besides, as of a configuration that it cannot read
    # (https://github.com/docker/for-win/issues/808).
    $text = "$($result.output)"
    $text = $text.Substring(0, $text.LastIndexOf(']') + 1)
    foreach ($found in @($text | ConvertFrom-Json)) {
        foreach ($item in $found) {
            if (@($item.RepoDigests) -ccontains $Image.pinned) { return $Image.digest }
            $record = Read-Record
            if ($null -ne $record -and $record.digest -ceq $Image.digest -and $record.id -ceq $item.Id) {
                return $Image.digest
            }
        }
    }
}

function Add-DockerImage {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Image, [AllowNull()] [hashtable] $Content,
        [Parameter(Mandatory)] [string] $Program)
    if ($null -eq $Content) {
        Invoke-ImagePull -Program $Program -Arguments @('pull', $Image.pinned)
        if ($Image.name -cne $Image.pinned) {
            Invoke-ImageProgram -Program $Program -Arguments @('tag', $Image.pinned, $Image.name)
        }
        return
    }
    $archive = New-ImageArchive -Image $Image -Content $Content
    Invoke-ImageProgram -Program $Program -Arguments @('load', '--input', $archive)
    [IO.File]::Delete($archive)
    Write-Record -Record @{ digest = $Image.digest; id = $Content.config }
}

# A blob that came with the plan, checked; its path among the others.
function Confirm-ImageBlob {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Layout, [Parameter(Mandatory)] [string] $Digest)
    $path = "blobs/$($Digest.Replace(':', '/'))"
    $found = Get-Digest -Path "$Layout/$path"
    if ("sha256:$found" -cne $Digest) { throw "$Layout/$path has digest $found" }
    $path
}

function Read-ImageManifest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Layout, [Parameter(Mandatory)] [string] $Digest)
    $path = Confirm-ImageBlob -Layout $Layout -Digest $Digest
    [IO.File]::ReadAllText("$Layout/$path") | ConvertFrom-Json
}

# What came with the plan of an image, every blob held against its digest; $null where nothing came. Of a list of
# manifests the one for this Windows came along.
function Find-ImageContent {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Image)
    $layout = Join-Path -Path (Resolve-NativePath -Path $script:Root) -ChildPath 'artifacts/images'
    if (-not [IO.File]::Exists("$layout/blobs/$($Image.digest.Replace(':', '/'))")) { return $null }
    $manifest = Read-ImageManifest -Layout $layout -Digest $Image.digest
    $kind = 'application/vnd.oci.image.manifest.v1+json'
    if ($null -ne $manifest.PSObject.Properties['mediaType']) { $kind = $manifest.mediaType }
    $blobs = @(Confirm-ImageBlob -Layout $layout -Digest $Image.digest)
    if ($null -ne $manifest.PSObject.Properties['manifests']) {
        $here = @($manifest.manifests | Where-Object {
            [IO.File]::Exists("$layout/blobs/$($_.digest.Replace(':', '/'))")
        })
        if ($here.Count -ne 1) { throw "of $($Image.name), $($here.Count) manifests came with the plan" }
        $blobs += Confirm-ImageBlob -Layout $layout -Digest $here[0].digest
        $manifest = Read-ImageManifest -Layout $layout -Digest $here[0].digest
    }
    $config = Confirm-ImageBlob -Layout $layout -Digest $manifest.config.digest
    $layers = @(foreach ($layer in $manifest.layers) { Confirm-ImageBlob -Layout $layout -Digest $layer.digest })
    @{
        layout = $layout
        kind = $kind
        config = $manifest.config.digest
        configPath = $config
        layers = $layers
        blobs = @(($blobs + $config + $layers) | Select-Object -Unique)
    }
}

# One archive that both runtimes take: an OCI layout with the name that the kubelet asks for, and Docker's list.
function New-ImageArchive {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Image, [Parameter(Mandatory)] [hashtable] $Content)
    $short = $Image.digest.Substring(7, 16)
    $folder = Join-Path -Path (Resolve-NativePath -Path $script:Root) -ChildPath "cache/image-$short"
    $size = (Get-Item -LiteralPath "$($Content.layout)/$($Content.blobs[0])").Length
    $named = @{ 'io.containerd.image.name' = $Image.name }
    $first = @{ mediaType = $Content.kind; digest = $Image.digest; size = $size; annotations = $named }
    $index = @{ schemaVersion = 2; manifests = @($first) }
    $list = @{ Config = $Content.configPath; RepoTags = @($Image.name); Layers = $Content.layers }
    if ($Image.name -ceq $Image.pinned) { $list.RepoTags = @() }
    $texts = @{ 'oci-layout' = '{"imageLayoutVersion":"1.0.0"}' }
    $texts['index.json'] = ConvertTo-Json -InputObject $index -Depth 5 -Compress
    $texts['manifest.json'] = ConvertTo-Json -InputObject @($list) -Depth 4 -Compress
    foreach ($name in $texts.Keys) { Write-TextFile -Path "$folder/$name" -Content $texts[$name] }
    $folders = [ordered]@{}
    $folders[$folder] = @('oci-layout', 'index.json', 'manifest.json')
    $folders[$Content.layout] = $Content.blobs
    try {
        New-TarArchive -Archive "$folder.tar" -Folders $folders
    } finally {
        Remove-Tree -Path $folder
    }
    "$folder.tar"
}

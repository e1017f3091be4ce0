# A container image in the runtime's store, under the names that the kubelet asks for (engine/Images.ps1).
function Get-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $runtime,
        [Parameter(Mandatory)] [string] $program, [string] $namespace, [bool] $pull)
    $image = Split-ImageReference -Reference $reference
    # No registry is to be asked, and nothing came: the node pulls it for its first pod.
    if (-not $pull -and $null -eq (Find-ImageContent -Image $image)) { return @{ reference = $reference } }
    $found = $null
    if ($runtime -eq 'docker') {
        $found = Get-DockerImage -Image $image -Program $program
    } else {
        $found = Get-ContainerdImage -Image $image -Program $program -Namespace $namespace
    }
    if ($found -ceq $image.digest) { $found = $reference }
    @{ reference = $found }
}

# Imported where its content came with the plan, else pulled.
function Set-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $runtime,
        [Parameter(Mandatory)] [string] $program, [Parameter(Mandatory)] [string] $client,
        [Parameter(Mandatory)] [AllowEmptyString()] [string] $namespace, [string[]] $importArguments = @(),
        [bool] $pull)
    $image = Split-ImageReference -Reference $reference
    $content = Find-ImageContent -Image $image
    if ($runtime -eq 'docker') {
        Add-DockerImage -Image $image -Content $content -Program $program
        return
    }
    $line = @('-n', $namespace, 'images')
    if ($null -ne $content) {
        $archive = New-ImageArchive -Image $image -Content $content
        Invoke-ImageProgram -Program $program -Arguments ($line + 'import' + $importArguments + $archive)
        [IO.File]::Delete($archive)
        return
    }
    # The CRI itself pulls: by the same mirrors as the kubelet, and into names that it finds. It drops the tag of a
    # reference that has a digest.
    $settings = Join-Path -Path (Split-Path -Path $client) -ChildPath 'crictl.yaml'
    Invoke-ImagePull -Program $client -Arguments @('--config', $settings, 'pull', $image.pinned)
    if ($image.name -ceq $image.pinned) { return }
    $tag = @('tag', '--force', $image.pinned, $image.name)
    Invoke-ImageProgram -Program $program -Arguments ($line + $tag)
}

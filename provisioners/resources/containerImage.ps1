# A container image in containerd's store, under the names that the CRI looks for. `images check` reads the store
# itself: one row per image with its name, digest and whether all of its content is there.
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

function Get-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $program,
        [Parameter(Mandatory)] [string] $client, [Parameter(Mandatory)] [string] $namespace)
    $image = Split-ImageReference -Reference $reference
    $arguments = @('-n', $namespace, 'images', 'check', "name==$($image.name)")
    $result = Invoke-Program -Program $program -Arguments $arguments
    if ($result.exitCode -ne 0) { throw "$program exited with $($result.exitCode): $($result.output.Trim())" }
    foreach ($line in $result.output.Split("`n")) {
        $fields = $line.Trim() -split '\s+'
        if ($fields[0] -cne $image.name -or $fields -cnotcontains $image.digest) { continue }
        if ($fields -ccontains 'complete') { return @{ reference = $reference } }
        return @{ reference = "incomplete: $($line.Trim())" }
    }
    @{ reference = $null }
}

# The CRI itself pulls: by the same mirrors as the kubelet, and into names that it finds. It drops the tag of a
# reference that has a digest.
function Set-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $program,
        [Parameter(Mandatory)] [string] $client, [Parameter(Mandatory)] [string] $namespace)
    $image = Split-ImageReference -Reference $reference
    $settings = Join-Path -Path (Split-Path -Path $client) -ChildPath 'crictl.yaml'
    $result = Invoke-Program -Program $client -Arguments @('--config', $settings, 'pull', $image.pinned)
    if ($result.exitCode -ne 0) { throw "$client exited with $($result.exitCode): $($result.output.Trim())" }
    if ($image.name -ceq $image.pinned) { return }
    $arguments = @('-n', $namespace, 'images', 'tag', '--force', $image.pinned, $image.name)
    $result = Invoke-Program -Program $program -Arguments $arguments
    if ($result.exitCode -ne 0) { throw "$program exited with $($result.exitCode): $($result.output.Trim())" }
}

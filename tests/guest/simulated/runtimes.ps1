# The stores of container runtimes.

# Why a pull fails: the text of the area os, for as many times as it says.
function Test-PullSimulation {
    [CmdletBinding()]
    param()
    if ("$(Get-Simulation -Area 'os' -Name 'pull')" -notmatch '^(\d+) (.+)$') { return '' }
    $left, $text = [int]$Matches[1], $Matches[2]
    if ($left -eq 0) { return '' }
    Set-Simulation -Area 'os' -Name 'pull' -Value "$($left - 1) $text"
    $text
}

# ctr and crictl: the store is the area `images`, name to digest and state.
function Invoke-ContainerdProgram {
    [CmdletBinding()]
    param([string[]] $Arguments)
    $last = $Arguments[-1]
    if ($Arguments -contains 'pull') {
        Confirm-Simulation -Ability 'pull'
        $left = Test-PullSimulation
        if ($left) { return @{ exitCode = 1; output = $left } }
        # As the CRI, which drops a tag that stands before a digest.
        $name, $digest = $last.Split('@')
        $name = $name -creplace ':[^:/]+$', ''
        Set-Simulation -Area 'images' -Name "$name@$digest" -Value "$digest complete (2/2)"
        return @{ exitCode = 0; output = "pulled`n" }
    }
    if ($Arguments -contains 'import') {
        Confirm-Simulation -Ability 'import'
        $layout = Invoke-Native -Program 'tar' -Arguments @('-xOf', $last, 'index.json')
        $layout = $layout.stdout | ConvertFrom-Json
        foreach ($manifest in $layout.manifests) {
            $name = $manifest.annotations.'io.containerd.image.name'
            Set-Simulation -Area 'images' -Name $name -Value "$($manifest.digest) complete (2/2)"
        }
        return @{ exitCode = 0; output = '' }
    }
    $reference = $last.Replace('name==', '')
    if ($Arguments -contains 'tag') {
        $source = Get-Simulation -Area 'images' -Name $Arguments[-2]
        if ($null -eq $source) { return @{ exitCode = 1; output = "image $($Arguments[-2]): not found`n" } }
        Set-Simulation -Area 'images' -Name $reference -Value $source
        return @{ exitCode = 0; output = "$reference`n" }
    }
    $status = Get-Simulation -Area 'images' -Name $reference
    $rows = 'REF TYPE DIGEST STATUS SIZE UNPACKED'
    if ($null -ne $status) { $rows += "`n$reference type/x $status 1.0/1.0 true" }
    @{ exitCode = 0; output = "$rows`n" }
}

# docker: the store is the area `dockerImages`, name to what `image inspect` prints. An image that was loaded has
# no digest of a registry.
function Invoke-DockerProgram {
    [CmdletBinding()]
    param([string[]] $Arguments)
    $last = $Arguments[-1]
    $verb = $Arguments[0]
    if ($verb -eq 'pull') {
        Confirm-Simulation -Ability 'pull'
        $left = Test-PullSimulation
        if ($left) { return @{ exitCode = 1; output = $left } }
        $found = @{ Id = 'sha256:1d'; RepoDigests = @($last) }
        Set-Simulation -Area 'dockerImages' -Name $last -Value $found
    } elseif ($verb -eq 'tag') {
        $found = Get-Simulation -Area 'dockerImages' -Name $Arguments[-2]
        if ($null -eq $found) { return @{ exitCode = 1; output = 'No such image' } }
        Set-Simulation -Area 'dockerImages' -Name $last -Value $found
    } elseif ($verb -eq 'load') {
        Confirm-Simulation -Ability 'import'
        $list = Invoke-Native -Program 'tar' -Arguments @('-xOf', $last, 'manifest.json')
        $list = $list.stdout | ConvertFrom-Json
        foreach ($item in $list) {
            $found = @{ Id = $item.Config.Replace('blobs/', '').Replace('/', ':'); RepoDigests = @() }
            foreach ($name in $item.RepoTags) { Set-Simulation -Area 'dockerImages' -Name $name -Value $found }
        }
    } else {
        $found = Get-Simulation -Area 'dockerImages' -Name $last
        if ($null -eq $found) { return @{ exitCode = 1; output = 'No such image' } }
        # It warns where it cannot read a configuration of its own.
        $text = ConvertTo-Json -InputObject @($found) -Depth 4
        return @{ exitCode = 0; output = "${text}`nWARNING: Error loading config file`n" }
    }
    @{ exitCode = 0; output = '' }
}

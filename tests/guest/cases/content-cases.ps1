# Files that came with the plan, members of archives, container images. Loaded by run.ps1.

# Files that came with the plan, under their digests: no URL is asked, since the mirror has nothing any more, and
# the plan allows no host.
function Test-Media {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue @()
    }
    $folder = "$world/C/imagegen/artifacts"
    $null = [IO.Directory]::CreateDirectory($folder)
    $content = [IO.File]::ReadAllText("$world/C/imagegen/guest-plan.json") | ConvertFrom-Json
    $program = ''
    foreach ($resource in $content.resources) {
        if ($resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { continue }
        $wanted = $resource.properties
        $file = Get-Simulation -Area 'urls' -Name $wanted.url
        Copy-Item -LiteralPath "$world/mirror/$file" -Destination "$folder/$($wanted.digest)"
        if ($resource.name -eq 'kubelet/program') { $program = "$folder/$($wanted.digest)" }
    }
    Get-ChildItem -LiteralPath "$world/mirror" -File | Remove-Item -Force
    $bytes = [IO.File]::ReadAllBytes($program)
    [IO.File]::AppendAllText($program, 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes that came with the plan are refused' -Run $run -Code 1 -Text 'pinned is'
    [IO.File]::WriteAllBytes($program, $bytes)
    Assert-Run -Name 'media are enough' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
}

# What was verified is what is unpacked: an archive of the pinned digest whose member has other bytes is refused.
function Test-Member {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
    }
    Assert-Run -Name 'members of the planned digests' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    $world = New-World -Source $Source -Edit {
        param($content)
        foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
        $archive = @($content.resources | Where-Object { $_.type -eq 'archive' })[0]
        @($archive.properties.members)[0].sha256 = '0' * 64
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a member with other bytes is refused' -Run $run -Code 1 -Text 'the unpacked file is'
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'no such member stays' -Holds ($left.Count -eq 0) -Detail $left
}

# A blob of an OCI layout: the text's bytes under their digest, which is given.
function Add-Blob {
    param([string] $World, [string] $Text)
    $folder = "$World/C/imagegen/artifacts/images/blobs/sha256"
    $null = [IO.Directory]::CreateDirectory($folder)
    [IO.File]::WriteAllText("$folder/new", $Text)
    $digest = Get-Digest -Path "$folder/new"
    [IO.File]::Move("$folder/new", "$folder/$digest", $true)
    "sha256:$digest"
}

# Images whose content came with the plan are imported, under the names that the kubelet asks for; no registry is
# asked. A blob with other bytes is refused.
function Test-ImageImport {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pull' -Value '99 no registry is to be asked'
    $config = Add-Blob -World $world -Text '{"os":"windows"}'
    $layer = Add-Blob -World $world -Text 'layer'
    $text = "{`"schemaVersion`":2,`"config`":{`"digest`":`"$config`"},`"layers`":[{`"digest`":`"$layer`"}]}"
    $manifest = Add-Blob -World $world -Text $text
    $other = "sha256:$('f' * 64)"
    $text = "{`"schemaVersion`":2,`"manifests`":[{`"digest`":`"$other`"},{`"digest`":`"$manifest`"}]}"
    $list = Add-Blob -World $world -Text $text
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $names = @{ 'images/pause' = 'registry.example/pause:3.2'; 'images/docker' = 'registry.example/pause:3.5' }
    foreach ($name in $names.Keys) {
        $image = Select-Named -Content $content -Name $name
        $image.properties.reference = "$($names[$name])@$list"
    }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Assert-Run -Name 'images are imported' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    $found = Get-Simulation -Area 'images' -Name 'registry.example/pause:3.2'
    Assert-That -Name 'the CRI knows the name' -Holds ("$found".StartsWith($list)) -Detail $found
    $found = Get-Simulation -Area 'dockerImages' -Name 'registry.example/pause:3.5'
    Assert-That -Name 'Docker knows the name' -Holds ("$($found['Id'])" -ceq $config) -Detail $found
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-That -Name 'images are imported once' -Holds ($run.result.changed -eq 0) -Detail $run.text
    $left = @(Get-ChildItem -Path "$world/C/imagegen/cache" -Filter '*.tar')
    Assert-That -Name 'no archive is left' -Holds ($left.Count -eq 0) -Detail $left
    Clear-Entry -Area 'images' -Name 'registry.example/pause:3.2'
    $image = Select-Named -Content $content -Name 'images/pause'
    $image.properties.reference = "registry.example/pause:3.2@$other"
    $image.properties.pull = $false
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'an image that did not come is left to the node' -Run $run -Code 0
    $image.properties.reference = "registry.example/pause:3.2@$list"
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    [IO.File]::AppendAllText("$world/C/imagegen/artifacts/images/blobs/$($layer.Replace(':', '/'))", 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a changed layer is refused' -Run $run -Code 1 -Text 'has digest'
}

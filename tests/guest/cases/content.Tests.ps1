# Files that came with the plan, members of archives, container images.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

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
}

# Files that came with the plan, under their digests: no URL is asked, since the mirror has nothing any more, and
# the plan allows no host.
Describe 'Media' -Tag 'engine' {
    BeforeAll {
        $world = New-World -Edit {
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
    }

    It 'other bytes that came with the plan are refused' {
        Assert-Run -Run $run -Code 1 -Text 'pinned is'
    }

    It 'media are enough' {
        [IO.File]::WriteAllBytes($program, $bytes)
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    }
}

# What was verified is what is unpacked: an archive of the pinned digest whose member has other bytes is refused.
Describe 'Member' -Tag 'engine' {
    BeforeAll {
        $script:world = New-World -Edit {
            param($content)
            foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
        }
    }

    It 'members of the planned digests' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    }

    It 'a member with other bytes is refused' {
        $script:world = New-World -Edit {
            param($content)
            foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
            $archive = @($content.resources | Where-Object { $_.type -eq 'archive' })[0]
            @($archive.properties.members)[0].sha256 = '0' * 64
        }
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'the unpacked file is'
    }

    It 'a member without digest is refused outside previews' {
        $script:world = New-World -Edit {
            param($content)
            $content.PSObject.Properties.Remove('preview')
        }
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 2
    }

    It 'no such member stays' {
        $left = @(Get-Partial -World $world)
        $left.Count | Should -Be 0 -Because $left
    }
}

# Images whose content came with the plan are imported, under the names that the kubelet asks for; no registry is
# asked. A blob with other bytes is refused.
Describe 'ImageImport' -Tag 'engine' {
    BeforeAll {
        $world = New-World
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
            $script:image = Select-Named -Content $content -Name $name
            $image.properties.reference = "$($names[$name])@$list"
        }
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    }

    It 'images are imported' {
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    }

    It 'the CRI knows the name' {
        $found = Get-Simulation -Area 'images' -Name 'registry.example/pause:3.2'
        "$found".StartsWith($list) | Should -BeTrue -Because $found
    }

    It 'Docker knows the name' {
        $found = Get-Simulation -Area 'dockerImages' -Name 'registry.example/pause:3.5'
        "$($found['Id'])" | Should -BeExactly $config -Because $found
    }

    It 'images are imported once' {
        $run = Invoke-Engine -World $world -Phase 'install'
        $run.result.changed | Should -Be 0 -Because $run.text
    }

    It 'no archive is left' {
        $left = @(Get-ChildItem -LiteralPath "$world/C/imagegen/cache" -Filter '*.tar')
        $left.Count | Should -Be 0 -Because $left
    }

    It 'an image that did not come is left to the node' {
        Clear-Entry -Area 'images' -Name 'registry.example/pause:3.2'
        $script:image = Select-Named -Content $content -Name 'images/pause'
        $image.properties.reference = "registry.example/pause:3.2@$other"
        $image.properties.pull = $false
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'a changed layer is refused' {
        $image.properties.reference = "registry.example/pause:3.2@$list"
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        [IO.File]::AppendAllText("$world/C/imagegen/artifacts/images/blobs/$($layer.Replace(':', '/'))", 'x')
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'has digest'
    }
}

# Downloads: other bytes, failures, redirects, files that are open.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # Where the URL of the kubelet leads, one URL after the other; $Last is what the last one gives.
    function Set-Redirect {
        param([string] $Last, [string[]] $Leads)
        $at = 'https://files.example/kubelet.exe'
        foreach ($next in $Leads) {
            Set-Simulation -Area 'urls' -Name $at -Value "redirect $next"
            $at = $next
        }
        Set-Simulation -Area 'urls' -Name $at -Value $Last
    }

    # A machine whose plan allows some hosts.
    function New-HostWorld {
        param()
        New-World -Edit {
            param($content)
            $hosts = @('files.example', '*.CDN.example', '127.0.0.1', '[::1]')
            $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue $hosts
        }
    }
}

Describe 'Download' -Tag 'engine' {
    BeforeAll {
        $script:world = New-World
        $url = 'https://files.example/kubelet.exe'
        $file = Get-Simulation -Area 'urls' -Name $url
        [IO.File]::AppendAllText("$world/mirror/$file", 'x')
        $run = Invoke-Engine -World $world -Phase 'install'
    }

    It 'other bytes are refused' {
        Assert-Run -Run $run -Code 1 -Text 'pinned is'
    }

    It 'nothing unchecked is left' {
        $there = Test-Path -LiteralPath "$world/C/k/kubelet.exe"
        $left = @(Get-Partial -World $world)
        $there | Should -BeFalse -Because $left
        $left.Count | Should -Be 0 -Because $left
        foreach ($kept in Get-ChildItem -LiteralPath "$world/C/imagegen/cache" -File) {
            # An artifact has its digest as name.
            if ($kept.Extension) { continue }
            $digests = @('SHA256', 'SHA512' | ForEach-Object { Get-Digest -Path $kept.FullName -Algorithm $_ })
            @($digests | ForEach-Object { $_.Substring(0, 32) }) | Should -Contain $kept.Name
        }
    }

    It 'a good mirror completes it' {
        [IO.File]::WriteAllBytes("$world/mirror/$file", (Get-TextByte -Text "bytes of $url"))
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    }

    It 'a missing file is named' {
        $script:world = New-World
        Set-Simulation -Area 'urls' -Name $url -Value $null
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text "download of $url failed"
    }

    It 'a reset download is tried again' {
        $script:world = New-World
        $file = Get-Simulation -Area 'urls' -Name $url
        Set-Simulation -Area 'urls' -Name $url -Value "reset 2 $file"
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    }

    It 'a slow download is ended' {
        $script:world = New-World
        $path = "$world/C/imagegen/guest-plan.json"
        $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
        $program = Select-Named -Content $content -Name 'kubelet/program'
        $program.timeoutSeconds = 1
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        Set-Simulation -Area 'urls' -Name $url -Value 'slow'
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'time limit of 1 s'
    }

    It 'a file lies where another grows' {
        $script:world = New-World
        $null = [IO.Directory]::CreateDirectory("$world/C/k")
        [IO.File]::WriteAllText("$world/C/other.txt", 'of somebody')
        $null = New-Item -ItemType HardLink -Path "$world/C/k/kubelet.exe.partial" -Value "$world/C/other.txt"
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'it is not written through' {
        $kept = [IO.File]::ReadAllText("$world/C/other.txt")
        $kept | Should -BeExactly 'of somebody'
    }
}

# Redirects lead to hosts of the plan alone, never to plain HTTP, five times at most. No message names a query.
Describe 'Redirect' -Tag 'engine' {
    BeforeAll {
        $url = 'https://files.example/kubelet.exe'
        $world = New-HostWorld
        $file = Get-Simulation -Area 'urls' -Name $url
        $no = 'of the plan does not allow'
    }

    Context 'a redirect to <to>' -ForEach @(
        @{
            to = 'https://evil.example/k?sig=s3cret'
            where = 'evil.example, which allowedHosts of the plan does not allow'
        }
        @{ to = 'https://cdn.example/k'; where = 'cdn.example, which allowedHosts of the plan does not allow' }
        @{ to = 'https://xcdn.example/k'; where = 'xcdn.example, which allowedHosts of the plan does not allow' }
        @{
            to = 'https://files.example.evil.example/k'
            where = 'files.example.evil.example, which allowedHosts of the plan does not allow'
        }
        @{
            to = 'https://files.example./k'
            where = 'files.example., which allowedHosts of the plan does not allow'
        }
        @{ to = 'https://127.1/k'; where = '127.1, which allowedHosts of the plan does not allow' }
        @{
            to = 'https://[0:0:0:0:0:0:0:1]/k'
            where = '[0:0:0:0:0:0:0:1], which allowedHosts of the plan does not allow'
        }
        @{ to = 'http://files.example/k?sig=s3cret'; where = 'plain HTTP on files.example' }
        @{ to = 'https://files.example@evil.example/k'; where = 'a URL that is refused' }
        @{ to = 'https://user:s3cret@files.example/k'; where = 'a URL that is refused' }
        @{ to = 'https://evil.example\@files.example/k'; where = 'a URL that is refused' }
        @{ to = 'https://files%2eexample/k'; where = 'a URL that is refused' }
        @{ to = 'https://*.cdn.example/k'; where = 'a URL that is refused' }
        @{ to = 'https://files.example:x/k'; where = 'a URL that is refused' }
        @{ to = 'https:///files.example/k'; where = 'a URL that is refused' }
        @{ to = 'https:files.example/k'; where = 'a URL that is refused' }
        @{ to = 'files.example/k'; where = 'a URL that is refused' }
        @{ to = 'ftp://files.example/k'; where = 'a URL that is refused' }
        @{ to = 'file:///etc/passwd'; where = 'a URL that is refused' }
    ) {
        BeforeAll {
            Set-Redirect -Last $file -Leads $to
            $script:run = Invoke-Engine -World $world -Phase 'install'
        }

        It 'is refused' {
            Assert-Run -Run $run -Code 1 -Text "redirects to $where"
        }

        It 'keeps its secret' {
            $run.text.Contains('s3cret') | Should -BeFalse -Because $run.text
        }
    }

    It 'a redirect to a URL of 9000 characters is refused' {
        Set-Redirect -Last $file -Leads "https://files.example/$('x' * 9000)"
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'redirects to a URL that is refused'
    }

    It 'no answer of a redirect is left' {
        $left = @(Get-Partial -World $world)
        $left.Count | Should -Be 0 -Because $left
    }

    It 'six redirects are refused' {
        $script:leads = @('https://a.cdn.example/1?sig=s3cret', 'https://B.c.CDN.example:8443/2')
        $script:leads += @('https://127.0.0.1/3', 'https://[::1]:8443/4#part', 'HTTPS://FILES.example/5')
        Set-Redirect -Last $file -Leads ($leads + 'https://a.cdn.example/6')
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    }

    It 'a circle is refused' {
        Set-Simulation -Area 'urls' -Name $url -Value "redirect $url"
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    }

    It 'a file that is missing behind a redirect' {
        Set-Redirect -Last 'no-such-file' -Leads $leads[0]
        $script:run = Invoke-Engine -World $world -Phase 'install'
        $text = "download of $url (redirected to a.cdn.example) failed"
        Assert-Run -Run $run -Code 1 -Text $text
    }

    It 'its message names no query' {
        $run.text.Contains('s3cret') | Should -BeFalse -Because $run.text
    }

    It 'other bytes behind a redirect' {
        [IO.File]::WriteAllText("$world/mirror/other", 'other bytes')
        Set-Redirect -Last 'other' -Leads $leads[0]
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 1 -Text '(redirected to a.cdn.example) is'
    }

    It 'five redirects to allowed hosts are followed' {
        Set-Redirect -Last $file -Leads $leads
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'a reset behind a redirect begins again' {
        $world = New-HostWorld
        Set-Redirect -Last "reset 2 $(Get-Simulation -Area 'urls' -Name $url)" -Leads $leads[0]
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'a plan without hosts allows every host' {
        $world = New-World
        Set-Redirect -Last (Get-Simulation -Area 'urls' -Name $url) -Leads 'https://anywhere.example/k'
        $script:run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Run $run -Code 0
    }

    It 'a pinned URL of another host is refused' {
        $world = New-World -Edit {
            param($content)
            $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue @('other.example')
        }
        $script:run = Invoke-Engine -World $world -Phase 'install'
        $text = "allowedHosts $no the host of https://files.example/"
        Assert-Run -Run $run -Code 1 -Text $text
    }
}

# A file that another process holds open is left as it is, and the message names it.
Describe 'LockedFile' -Tag 'engine' {
    BeforeAll {
        $world = New-InstalledWorld
        [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
        $before = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
        Set-Simulation -Area 'files' -Name 'kubelet.exe' -Value 'locked'
        $run = Invoke-Engine -World $world -Phase 'install'
        $text = 'C:\k\kubelet.exe cannot be replaced: it is being used'
    }

    It 'a file that is open is named' {
        Assert-Run -Run $run -Code 1 -Text $text
    }

    It 'a file that is open stays' {
        $after = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
        $before | Should -BeExactly $after -Because $after
    }

    It 'nothing partial beside it' {
        $left = @(Get-Partial -World $world)
        $left.Count | Should -Be 0 -Because $left
    }
}

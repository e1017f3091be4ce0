# Downloads: other bytes, failures, redirects, files that are open. Loaded by run.ps1.

function Test-Download {
    param([string] $Source)
    $world = New-World -Source $Source
    $url = 'https://files.example/kubelet.exe'
    $file = Get-Simulation -Area 'urls' -Name $url
    [IO.File]::AppendAllText("$world/mirror/$file", 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes are refused' -Run $run -Code 1 -Text 'pinned is'
    $there = Test-Path -LiteralPath "$world/C/k/kubelet.exe"
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'nothing unchecked is left' -Holds (-not $there -and $left.Count -eq 0) -Detail $left
    [IO.File]::WriteAllBytes("$world/mirror/$file", (Get-TextByte -Text "bytes of $url"))
    Assert-Run -Name 'a good mirror completes it' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0

    $world = New-World -Source $Source
    Set-Simulation -Area 'urls' -Name $url -Value $null
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a missing file is named' -Run $run -Code 1 -Text "download of $url failed"

    $world = New-World -Source $Source
    $file = Get-Simulation -Area 'urls' -Name $url
    Set-Simulation -Area 'urls' -Name $url -Value "reset 2 $file"
    Assert-Run -Name 'a reset download is tried again' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0

    $world = New-World -Source $Source
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $program = Select-Named -Content $content -Name 'kubelet/program'
    $program.timeoutSeconds = 1
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Set-Simulation -Area 'urls' -Name $url -Value 'slow'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a slow download is ended' -Run $run -Code 1 -Text 'time limit of 1 s'

    $world = New-World -Source $Source
    $null = [IO.Directory]::CreateDirectory("$world/C/k")
    [IO.File]::WriteAllText("$world/C/other.txt", 'of somebody')
    $null = New-Item -ItemType HardLink -Path "$world/C/k/kubelet.exe.partial" -Value "$world/C/other.txt"
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a file lies where another grows' -Run $run -Code 0
    $kept = [IO.File]::ReadAllText("$world/C/other.txt")
    Assert-That -Name 'it is not written through' -Holds ($kept -ceq 'of somebody') -Detail $kept
}

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
    param([string] $Source)
    New-World -Source $Source -Edit {
        param($content)
        $hosts = @('files.example', '*.CDN.example', '127.0.0.1', '[::1]')
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue $hosts
    }
}

# Redirects lead to hosts of the plan alone, never to plain HTTP, five times at most. No message names a query.
function Test-Redirect {
    param([string] $Source)
    $url = 'https://files.example/kubelet.exe'
    $world = New-HostWorld -Source $Source
    $file = Get-Simulation -Area 'urls' -Name $url
    $no = 'of the plan does not allow'
    $odd = 'redirects to a URL that is refused'
    $rows = @(
        @{ to = 'https://evil.example/k?sig=s3cret'; text = "redirects to evil.example, which allowedHosts $no" }
        @{ to = 'https://cdn.example/k'; text = "redirects to cdn.example, which allowedHosts $no" }
        @{ to = 'https://xcdn.example/k'; text = "redirects to xcdn.example, which allowedHosts $no" }
        @{ to = 'https://files.example.evil.example/k'; text = "files.example.evil.example, which allowedHosts" }
        @{ to = 'https://files.example./k'; text = "redirects to files.example., which allowedHosts $no" }
        @{ to = 'https://127.1/k'; text = "redirects to 127.1, which allowedHosts $no" }
        @{ to = 'https://[0:0:0:0:0:0:0:1]/k'; text = "redirects to [0:0:0:0:0:0:0:1], which allowedHosts $no" }
        @{ to = 'http://files.example/k?sig=s3cret'; text = 'redirects to plain HTTP on files.example' }
        @{ to = 'https://files.example@evil.example/k'; text = $odd }
        @{ to = 'https://user:s3cret@files.example/k'; text = $odd }
        @{ to = 'https://evil.example\@files.example/k'; text = $odd }
        @{ to = 'https://files%2eexample/k'; text = $odd }
        @{ to = 'https://*.cdn.example/k'; text = $odd }
        @{ to = 'https://files.example:x/k'; text = $odd }
        @{ to = 'https:///files.example/k'; text = $odd }
        @{ to = 'https:files.example/k'; text = $odd }
        @{ to = 'files.example/k'; text = $odd }
        @{ to = 'ftp://files.example/k'; text = $odd }
        @{ to = 'file:///etc/passwd'; text = $odd }
        @{ to = "https://files.example/$('x' * 9000)"; text = $odd }
    )
    foreach ($row in $rows) {
        Set-Redirect -Last $file -Leads $row.to
        $run = Invoke-Engine -World $world -Phase 'install'
        $name = "a redirect to $($row.to.Substring(0, [Math]::Min(40, $row.to.Length)))"
        Assert-Run -Name "$name is refused" -Run $run -Code 1 -Text $row.text
        Assert-That -Name "$name keeps its secret" -Holds (-not $run.text.Contains('s3cret')) -Detail $run.text
    }
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'no answer of a redirect is left' -Holds ($left.Count -eq 0) -Detail $left

    $leads = @('https://a.cdn.example/1?sig=s3cret', 'https://B.c.CDN.example:8443/2', 'https://127.0.0.1/3',
        'https://[::1]:8443/4#part', 'HTTPS://FILES.example/5')
    Set-Redirect -Last $file -Leads ($leads + 'https://a.cdn.example/6')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'six redirects are refused' -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    Set-Simulation -Area 'urls' -Name $url -Value "redirect $url"
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a circle is refused' -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    Set-Redirect -Last 'no-such-file' -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = "download of $url (redirected to a.cdn.example) failed"
    Assert-Run -Name 'a file that is missing behind a redirect' -Run $run -Code 1 -Text $text
    Assert-That -Name 'its message names no query' -Holds (-not $run.text.Contains('s3cret')) -Detail $run.text
    [IO.File]::WriteAllText("$world/mirror/other", 'other bytes')
    Set-Redirect -Last 'other' -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes behind a redirect' -Run $run -Code 1 -Text '(redirected to a.cdn.example) is'
    Set-Redirect -Last $file -Leads $leads
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'five redirects to allowed hosts are followed' -Run $run -Code 0

    $world = New-HostWorld -Source $Source
    Set-Redirect -Last "reset 2 $(Get-Simulation -Area 'urls' -Name $url)" -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a reset behind a redirect begins again' -Run $run -Code 0

    $world = New-World -Source $Source
    Set-Redirect -Last (Get-Simulation -Area 'urls' -Name $url) -Leads 'https://anywhere.example/k'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a plan without hosts allows every host' -Run $run -Code 0

    $world = New-World -Source $Source -Edit {
        param($content)
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue @('other.example')
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = "allowedHosts $no the host of https://files.example/"
    Assert-Run -Name 'a pinned URL of another host is refused' -Run $run -Code 1 -Text $text
}

# A file that another process holds open is left as it is, and the message names it.
function Test-LockedFile {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    $before = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
    Set-Simulation -Area 'files' -Name 'kubelet.exe' -Value 'locked'
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = 'C:\k\kubelet.exe cannot be replaced: it is being used'
    Assert-Run -Name 'a file that is open is named' -Run $run -Code 1 -Text $text
    $after = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
    Assert-That -Name 'a file that is open stays' -Holds ($before -ceq $after) -Detail $after
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'nothing partial beside it' -Holds ($left.Count -eq 0) -Detail $left
}

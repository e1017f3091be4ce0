# The real curl and bsdtar with the arguments that the engine gives to those of Windows. Without them a test is
# skipped.
BeforeDiscovery {
    $script:noCurl = -not (Get-Command -Name 'curl' -ErrorAction Ignore)
    $script:noTar = -not (Get-Command -Name 'bsdtar' -ErrorAction Ignore)
}
BeforeAll {
    Set-StrictMode -Version 3.0
    $engine = "$PSScriptRoot/../../provisioners/engine"
    $script:System32 = 'C:\Windows\System32'
    function Get-RegistryValue { }
    function Invoke-Native {
        param([string] $Program, [string[]] $Arguments, $Accept)
        $script:passed = @{ program = $Program; arguments = $Arguments }
        @{ exitCode = 1; output = '' }
    }
    . "$engine/windows/files.ps1"
    . "$engine/windows/diagnosis.ps1"

    # Answers by path: status, headers, body. `{here}` is the address of the server.
    $script:answers = @{
        '/file' = '200 OK', '', 'bytes'
        '/folder/file' = '200 OK', '', 'bytes'
        '/empty' = '200 OK', '', ''
        '/named' = '200 OK', 'Location: /file', 'bytes'
        '/missing' = '404 Not Found', 'Location: /file', 'moved'
        '/nowhere' = '302 Found', 'Location: ', 'moved'
        '/absolute' = '302 Found', 'Location: http://other.example:81/file?sig=s3cret', 'moved'
        '/relative/x' = '302 Found', 'Location: ../file', 'moved'
        '/rooted' = '307 Temporary Redirect', 'Location: /file', 'moved'
        '/moved' = '301 Moved Permanently', 'Location: /file', 'moved'
        '/permanent' = '308 Permanent Redirect', 'Location: /file', 'moved'
        '/other' = '303 See Other', 'Location: /file', 'moved'
        '/slashes' = '302 Found', 'Location: //other.example/file', 'moved'
        '/scheme' = '302 Found', 'Location: https://other.example/file', 'moved'
        '/user' = '302 Found', 'Location: https://user:s3cret@other.example/file', 'moved'
        '/local' = '302 Found', 'Location: file:///etc/passwd', 'moved'
        '/braces' = '302 Found', 'Location: http://other.example/{a,b}[1-3]', 'moved'
        '/blank' = '302 Found', 'Location: /a b', 'moved'
        '/to-missing' = '302 Found', 'Location: /missing', 'moved'
        '/to-empty' = '302 Found', 'Location: /empty', 'moved'
        '/hop3' = '302 Found', 'Location: /hop2', 'moved'
        '/hop2' = '302 Found', 'Location: {here}/hop1', 'moved'
        '/hop1' = '302 Found', 'Location: folder/file', 'moved'
        '/busy' = '302 Found', 'Location: /file', 'moved'
    }
    $script:asked = [Collections.ArrayList]::Synchronized([Collections.ArrayList]::new())
    $script:listener = [Net.Sockets.TcpListener]::new([Net.IPAddress]::Loopback, 0)
    $listener.Start()
    $script:here = "http://127.0.0.1:$($listener.LocalEndpoint.Port)"
    $script:server = [powershell]::Create()
    $null = $server.AddScript({
        param($Listener, $Answers, $Asked, $Here)
        while ($true) {
            $client = $Listener.AcceptTcpClient()
            $reader = [IO.StreamReader]::new($client.GetStream())
            $path = $reader.ReadLine().Split(' ')[1]
            while ($reader.ReadLine()) { }
            $answer = $Answers[$path]
            # Once busy, then as any other.
            if ($path -eq '/busy' -and $path -notin $Asked) {
                $answer = '503 Service Unavailable', 'Retry-After: 0', ''
            }
            $null = $Asked.Add($path)
            $head = "HTTP/1.1 $($answer[0])`r`n$($answer[1].Replace('{here}', $Here))`r`n"
            $length = "Content-Length: $($answer[2].Length)`r`nConnection: close`r`n`r`n"
            $bytes = [Text.Encoding]::ASCII.GetBytes($head.Replace("`r`n`r`n", "`r`n") + $length + $answer[2])
            $client.GetStream().Write($bytes, 0, $bytes.Length)
            $client.Dispose()
        }
    }).AddArgument($listener).AddArgument($answers).AddArgument($asked).AddArgument($here)
    $null = $server.BeginInvoke()

    # Exit code, and what curl prints, which is the URL that an answer leads to.
    function Invoke-Curl {
        param([string[]] $Arguments)
        $PSNativeCommandUseErrorActionPreference = $false
        $printed = "$(& curl @Arguments 2>"$TestDrive/errors")"
        @{ code = $LASTEXITCODE; printed = $printed }
    }
    function Get-Argument {
        param([string] $Url, [string] $Path = "$TestDrive/target")
        (Get-DownloadCommand -Url $Url -Path $Path).arguments
    }
}
AfterAll {
    $listener.Stop()
    $server.Dispose()
}

Describe 'curl' -Skip:$noCurl {
    It 'downloads <path> by <scheme> with <code>' -ForEach @(
        @{ path = '/file'; scheme = 'http'; code = 0 }
        @{ path = '/missing'; scheme = 'http'; code = 22 }
        # A protocol that the URL does not have.
        @{ path = '/file'; scheme = 'https'; code = 1 }
    ) {
        [IO.File]::Delete("$TestDrive/target")
        $arguments = (Get-Argument -Url "${scheme}://x") | Where-Object { $_ -ne "${scheme}://x" }
        (Invoke-Curl -Arguments (@($arguments) + "$here$path")).code | Should -Be $code
        [IO.File]::Exists("$TestDrive/target") | Should -Be ($code -eq 0)
    }

    It 'takes a file of this machine' {
        [IO.File]::WriteAllText("$TestDrive/source", 'from a file')
        (Invoke-Curl -Arguments (Get-Argument -Url "file://$TestDrive/source")).code | Should -Be 0
        [IO.File]::ReadAllText("$TestDrive/target") | Should -Be 'from a file'
    }

    It 'asks a local service' {
        $null = Get-UrlText -Url "$here/file"
        (Invoke-Curl -Arguments $passed.arguments).printed | Should -Be 'bytes'
    }

    # 2 is curl's code for an option that it does not know.
    It 'refuses each option that is misspelt' {
        $right = @(Get-Argument -Url 'file:///dev/null' -Path '/dev/null')
        $options = @(0..($right.Count - 1) | Where-Object { $right[$_].StartsWith('--') })
        $options.Count | Should -BeGreaterOrEqual 9
        foreach ($at in $options) {
            $wrong = [string[]]$right.Clone()
            $wrong[$at] = $wrong[$at].Insert(3, 'q')
            (Invoke-Curl -Arguments $wrong).code | Should -Be 2 -Because $wrong[$at]
        }
    }

    # Server 2019 has 7.55.1. Versions: `Added:` in curl's docs/cmdline-opts.
    It 'has every option in Server 2019' {
        $added = @{
            '--disable' = '7.50.0'; '--globoff' = '7.6'; '--fail' = '4.0'; '--silent' = '4.0'
            '--show-error' = '5.9'; '--proto' = '7.20.2'; '--retry' = '7.12.3'; '--connect-timeout' = '7.7'
            '--speed-time' = '4.7'; '--speed-limit' = '4.7'; '--output' = '4.0'; '--max-time' = '4.0'
            '--noproxy' = '7.19.4'; '--ssl-no-revoke' = '7.44.0'
            # Of its variable `redirect_url`.
            '--write-out' = '7.18.2'
        }
        function Get-RegistryValue { @{ data = 1 } }
        $null = Get-UrlText -Url "$here/file"
        $options = @((Get-Argument -Url $here) + $passed.arguments | Where-Object { $_.StartsWith('--') })
        '--ssl-no-revoke' | Should -BeIn $options
        foreach ($option in $options) {
            $added[$option] | Should -Not -BeNullOrEmpty -Because "$option is of some version"
            [version]$added[$option] | Should -BeLessOrEqual ([version]'7.55.1') -Because $option
        }
    }

    It 'tells that <path> leads to <to>, and asks nobody there' -ForEach @(
        @{ path = '/file'; code = 0; to = '' }
        @{ path = '/empty'; code = 0; to = '' }
        @{ path = '/named'; code = 0; to = '' }
        @{ path = '/missing'; code = 22; to = '' }
        @{ path = '/nowhere'; code = 0; to = '' }
        @{ path = '/busy'; code = 0; to = '{here}/file' }
        @{ path = '/absolute'; code = 0; to = 'http://other.example:81/file?sig=s3cret' }
        @{ path = '/relative/x'; code = 0; to = '{here}/file' }
        @{ path = '/rooted'; code = 0; to = '{here}/file' }
        @{ path = '/moved'; code = 0; to = '{here}/file' }
        @{ path = '/permanent'; code = 0; to = '{here}/file' }
        @{ path = '/other'; code = 0; to = '{here}/file' }
        @{ path = '/slashes'; code = 0; to = 'http://other.example/file' }
        @{ path = '/scheme'; code = 0; to = 'https://other.example/file' }
        @{ path = '/user'; code = 0; to = 'https://user:s3cret@other.example/file' }
        @{ path = '/local'; code = 0; to = 'file:///etc/passwd' }
        @{ path = '/braces'; code = 0; to = 'http://other.example/{a,b}[1-3]' }
        @{ path = '/blank'; code = 0; to = '{here}/a%20b' }
        @{ path = '/hop1'; code = 0; to = '{here}/folder/file' }
    ) {
        $asked.Clear()
        $ran = Invoke-Curl -Arguments (Get-Argument -Url "$here$path")
        $ran.printed | Should -BeExactly $to.Replace('{here}', $here)
        $ran.code | Should -Be $code
        @($asked | Sort-Object -Unique) | Should -Be $path
    }

    # As Downloads.ps1 goes on: one program after the other, until one prints nothing.
    It 'replaces the answers of redirects by the file at the end of <path>' -ForEach @(
        @{ path = '/file'; times = 1; code = 0; content = 'bytes' }
        @{ path = '/rooted'; times = 2; code = 0; content = 'bytes' }
        @{ path = '/hop3'; times = 4; code = 0; content = 'bytes' }
        @{ path = '/to-empty'; times = 2; code = 0; content = '' }
        # What an answer before has left is never taken: 22 ends the download.
        @{ path = '/to-missing'; times = 2; code = 22; content = 'moved' }
    ) {
        $asked.Clear()
        $ran = @{ printed = "$here$path" }
        while ($ran.printed) { $ran = Invoke-Curl -Arguments (Get-Argument -Url $ran.printed) }
        $ran.code | Should -Be $code
        $asked.Count | Should -Be $times
        [IO.File]::ReadAllText("$TestDrive/target") | Should -Be $content
    }
}

Describe 'bsdtar' -Skip:$noTar {
    BeforeAll {
        $null = New-Item -Path "$TestDrive/in/bin", "$TestDrive/out" -ItemType Directory
        foreach ($name in 'bin/containerd.exe', 'bin/ctr.exe', 'flannel.exe', '--version') {
            [IO.File]::WriteAllText("$TestDrive/in/$name", $name)
        }
        $members = 'bin/containerd.exe', 'bin/ctr.exe', './flannel.exe', '--version'
        & bsdtar -czf "$TestDrive/a.tar.gz" -C "$TestDrive/in" -- @members
    }

    It 'takes out <member>, of an archive that has more' -ForEach @(
        @{ member = 'bin/ctr.exe'; code = 0 }
        # The archive has it as `./flannel.exe`; names of members are without that.
        @{ member = 'flannel.exe'; code = 0 }
        # A member is no option.
        @{ member = '--version'; code = 0 }
        @{ member = 'bin/missing.exe'; code = 1 }
    ) {
        Expand-TarMember -Archive "$TestDrive/a.tar.gz" -Destination "$TestDrive/out" -Members $member
        $passed.program | Should -Be 'C:\Windows\System32\tar.exe'
        $arguments = $passed.arguments
        & bsdtar @arguments 2>$null
        $LASTEXITCODE | Should -Be $code
        [IO.File]::Exists("$TestDrive/out/$member") | Should -Be ($code -eq 0)
        [IO.File]::Exists("$TestDrive/out/bin/containerd.exe") | Should -BeFalse
    }

    It 'packs files of several folders' {
        $folders = [ordered]@{ "$TestDrive/in/bin" = @('ctr.exe'); "$TestDrive/in" = @('flannel.exe') }
        New-TarArchive -Archive "$TestDrive/b.tar" -Folders $folders
        $arguments = $passed.arguments
        & bsdtar @arguments
        @(& bsdtar -tf "$TestDrive/b.tar") | Should -Be 'ctr.exe', 'flannel.exe'
    }
}

# Failures that say why, and downloads that are led elsewhere. Loaded by real.ps1.

# A file that is open, a folder in the place of a file, a script that fails: each says why.
function Test-Failure {
    param([object[]] $Cases)
    $path = "$script:Life\a.txt"
    $file = $Cases | Where-Object { $_.name -eq 'file' }
    Write-Plan -Resources @((New-Resource -Name 'file' -Type 'file' -Properties $file.present))
    [IO.File]::AppendAllText($path, 'x')
    $open = [IO.File]::Open($path, 'Open', 'Read', 'Read')
    try { $run = Invoke-Engine -Mode 'apply' } finally { $open.Dispose() }
    $holds = $run.code -eq 1 -and $run.text.Contains('cannot be replaced') -and [IO.File]::Exists($path)
    Assert-That -Name 'an open file is named and stays' -Holds $holds -Detail $run.text
    [IO.File]::Delete($path)
    $null = [IO.Directory]::CreateDirectory($path)
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 1 -and $run.text.Contains('is a folder')
    Assert-That -Name 'a folder in the place of a file is named' -Holds $holds -Detail $run.text
    [IO.Directory]::Delete($path)
    $broken = @{ test = "'no'"; expected = 'yes'; set = "throw 'for this reason'" }
    Write-Plan -Resources @((New-Resource -Name 'script' -Type 'script' -Properties $broken))
    $run = Invoke-Engine -Mode 'apply'
    $holds = $run.code -eq 1 -and $run.text.Contains('for this reason')
    Confirm-Law -Law 'process.script-errors' -Holds $holds -Detail $run.text
    $kept = [IO.File]::ReadAllText("$script:Root\state\errors.log")
    Assert-That -Name 'the reason is kept' -Holds $kept.Contains('for this reason') -Detail $kept
}

# A server on loopback: /there gives a text, and /NAME leads to it by the host NAME.
function Start-Server {
    param([int] $Port)
    $listener = New-Object -TypeName Net.HttpListener
    foreach ($name in '127.0.0.1', 'localhost') { $listener.Prefixes.Add("http://${name}:$Port/") }
    $listener.Start()
    $server = [PowerShell]::Create().AddScript({
        param($listener, $port)
        while ($true) {
            $context = $listener.GetContext()
            $name = $context.Request.Url.AbsolutePath.Trim('/')
            if ($name -eq 'there') {
                $bytes = [Text.Encoding]::UTF8.GetBytes('bytes behind a redirect')
                $context.Response.ContentLength64 = $bytes.Length
                $context.Response.OutputStream.Write($bytes, 0, $bytes.Length)
            } else {
                $context.Response.Redirect("http://${name}:$port/there")
            }
            $context.Response.Close()
        }
    }).AddArgument($listener).AddArgument($Port)
    $null = $server.BeginInvoke()
    $listener
}

# The real curl.exe tells of redirects; the engine goes to hosts of the plan alone.
function Test-Redirect {
    $probe = New-Object -TypeName Net.Sockets.TcpListener -ArgumentList ([Net.IPAddress]::Loopback), 0
    $probe.Start()
    $port = $probe.LocalEndpoint.Port
    $null = $probe.Stop()
    $path = "$script:Life\d.bin"
    Write-Text -Path "$script:Root\expected" -Text 'bytes behind a redirect'
    $file = @{ path = $path; algorithm = 'sha256'; digest = (Get-FileDigest -Path "$script:Root\expected") }
    $listener = Start-Server -Port $port
    try {
        foreach ($name in '127.0.0.1', 'localhost') {
            $file.url = "http://127.0.0.1:$port/$name"
            $resource = New-Resource -Name 'redirected' -Type 'artifact' -Properties $file
            Write-Plan -Resources @($resource) -Hosts '127.0.0.1'
            $run = Invoke-Engine -Mode 'apply'
            $holds = $run.code -eq 0 -and [IO.File]::Exists($path)
            if ($name -eq 'localhost') {
                $text = 'redirects to localhost, which allowedHosts of the plan does not allow'
                $holds = $run.code -eq 1 -and $run.text.Contains($text) -and -not [IO.File]::Exists($path)
            }
            foreach ($law in 'file.redirect', 'file.curl-arguments') {
                Confirm-Law -Law $law -Holds $holds -Detail "to ${name}: $($run.text)"
            }
            [IO.File]::Delete($path)
        }
    } finally {
        $listener.Stop()
    }
}

# What resources and platform share: time limits, native programs, pinned downloads, archives, records.
# Nothing here exists on Windows alone. Engine.psm1 sets $script:Root, the folder of the plan.

# Names the resource in hand and starts its time.
function Start-Deadline {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [int] $Seconds)
    $script:Current = @{ name = $Name; seconds = $Seconds; clock = [Diagnostics.Stopwatch]::StartNew() }
}

# Milliseconds until the resource in hand must be done; throws when none are left.
function Get-TimeLeft {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Doing)
    $left = 1000 * $script:Current.seconds - $script:Current.clock.ElapsedMilliseconds
    if ($left -le 0) { throw "time limit of $($script:Current.seconds) s reached while $Doing" }
    [int][Math]::Min($left, [int]::MaxValue)
}

# .NET and native programs know nothing of PowerShell's drives: on Windows this changes nothing, a simulation
# mounts its drive C: somewhere else.
function Resolve-NativePath {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

# Arguments as one line that CommandLineToArgvW takes apart again.
function Join-Argument {
    [CmdletBinding()]
    param([string[]] $Arguments = @())
    $quoted = foreach ($text in $Arguments) {
        if ($text -ne '' -and $text -notmatch '[\s"]') {
            $text
        } else {
            '"' + ($text -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"'
        }
    }
    @($quoted) -join ' '
}

# With code page 65001, .NET Framework writes a byte order mark into the standard input of a child: it takes the
# encoding of the console. A process without a console has neither.
function Set-InputEncoding {
    [CmdletBinding()]
    param()
    try {
        if ([Console]::InputEncoding.GetPreamble().Length -gt 0) {
            [Console]::InputEncoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
        }
    } catch {
        Write-Verbose -Message 'this process has no console'
    }
}

# Through Process, not `&`: 5.1 mangles quotes and empty arguments and makes errors of text on stderr.
function Start-Native {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [string] $ArgumentLine = '', [string] $InputText = '',
        [hashtable] $Environment = @{})
    $start = New-Object -TypeName Diagnostics.ProcessStartInfo
    $start.FileName = $Program
    $start.Arguments = $ArgumentLine
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $start.RedirectStandardInput = [bool]$InputText
    # Otherwise the console's code page decides, which is 437 for SYSTEM. Programs written in Go print UTF-8.
    $start.StandardOutputEncoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
    $start.StandardErrorEncoding = $start.StandardOutputEncoding
    foreach ($name in $Environment.Keys) { $start.EnvironmentVariables[$name] = $Environment[$name] }
    if ($InputText) { Set-InputEncoding }
    $process = [Diagnostics.Process]::Start($start)
    if ($InputText) {
        # Not through the writer, which may add a byte order mark.
        $bytes = [Text.Encoding]::UTF8.GetBytes($InputText)
        $process.StandardInput.BaseStream.Write($bytes, 0, $bytes.Length)
        $process.StandardInput.BaseStream.Close()
    }
    @{
        process = $process
        output = $process.StandardOutput.ReadToEndAsync()
        errors = $process.StandardError.ReadToEndAsync()
    }
}

# Runs a program within the time of the resource in hand. No accepted codes: the caller looks at the code.
# What is to be done meanwhile is called again and again until the program has ended.
function Invoke-Native {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [string[]] $Arguments = @(), [string] $ArgumentLine = '',
        [int[]] $Accept = @(0), [scriptblock] $Meanwhile, [string] $InputText = '', [hashtable] $Environment = @{})
    if (-not $ArgumentLine) { $ArgumentLine = Join-Argument -Arguments $Arguments }
    $doing = "$Program was running"
    $with = @{ InputText = $InputText; Environment = $Environment }
    $native = Start-Native -Program $Program -ArgumentLine $ArgumentLine @with
    try {
        while ($null -ne $Meanwhile -and -not $native.process.WaitForExit(200)) {
            $null = Get-TimeLeft -Doing $doing
            & $Meanwhile
        }
        if (-not $native.process.WaitForExit((Get-TimeLeft -Doing $doing))) {
            throw "time limit of $($script:Current.seconds) s reached while $doing"
        }
        # A grandchild may hold the pipes open after the program itself has ended.
        foreach ($stream in $native.output, $native.errors) {
            if (-not $stream.Wait((Get-TimeLeft -Doing $doing))) { throw "a child of $Program did not end" }
        }
        $code = $native.process.ExitCode
        $text = $native.output.Result + $native.errors.Result
        if ($Accept.Count -gt 0 -and $code -notin $Accept) {
            throw "$Program exited with ${code}: $($text.Trim())"
        }
        @{ exitCode = $code; output = $text; stdout = $native.output.Result }
    } catch {
        Stop-ProcessTree -Process $native.process
        throw
    } finally {
        $native.process.Dispose()
    }
}

# A file for reading while others may write to it or delete it.
function Open-SharedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $share = [IO.FileShare]::ReadWrite -bor [IO.FileShare]::Delete
    [IO.File]::Open((Resolve-NativePath -Path $Path), 'Open', 'Read', $share)
}

# Lower-case digest of a file, $null when there is none.
function Get-Digest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [string] $Algorithm = 'SHA256')
    if (-not (Test-Path -LiteralPath $Path -PathType Leaf)) { return $null }
    $stream = Open-SharedFile -Path $Path
    try {
        (Get-FileHash -InputStream $stream -Algorithm $Algorithm -ErrorAction Stop).Hash.ToLowerInvariant()
    } finally {
        $stream.Dispose()
    }
}

# The value of the variable in a file of one line, NAME="...", whose backslashes and quotes are escaped, as kubeadm
# writes it. Nothing while there is no such file; half a line is refused, because somebody is still writing it.
function Read-Argument {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Variable)
    if (-not (Test-Path -LiteralPath $Path -PathType Leaf)) { return '' }
    $text = [IO.File]::ReadAllText((Resolve-NativePath -Path $Path))
    $form = '\A{0}="((?:[^"\\\r\n]|\\["\\])*)"\r?\n\z' -f [regex]::Escape($Variable)
    if ($text -cnotmatch $form) { throw "$Path is not one whole line $Variable=`"...`"" }
    $Matches[1] -creplace '\\(["\\])', '$1'
}

# Lower-case SHA-256 of bytes. Not by SHA256.Create, which a machine that keeps to FIPS refuses.
function Get-ByteDigest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [byte[]] $Bytes)
    $stream = New-Object -TypeName IO.MemoryStream -ArgumentList (, $Bytes)
    (Get-FileHash -InputStream $stream -Algorithm SHA256 -ErrorAction Stop).Hash.ToLowerInvariant()
}

# A file appears under its final name only by a move within its folder, where it also inherited its access.
function Move-Partial {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    $native = Resolve-NativePath -Path $Target
    try {
        Move-File -From "$native.partial" -To $native
    } catch {
        if ([IO.File]::Exists("$native.partial")) { [IO.File]::Delete("$native.partial") }
        throw "$Target cannot be replaced: $($_.Exception.GetBaseException().Message)"
    }
}

# The place where a file grows before Move-Partial; its folder is made.
function New-Partial {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    $native = Resolve-NativePath -Path $Target
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($native))
    "$native.partial"
}

# A file, or a folder with all that is in it. A link goes and what it leads to stays: Remove-Item -Recurse of 5.1
# walks through links to folders.
function Remove-Tree {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    $native = Resolve-NativePath -Path $Path
    $item = Get-Item -LiteralPath $native -Force
    $link = ($item.Attributes -band [IO.FileAttributes]::ReparsePoint) -ne 0
    if ($item.PSIsContainer -and -not $link) {
        foreach ($inner in Get-ChildItem -LiteralPath $native -Force) { Remove-Tree -Path $inner.FullName }
    }
    if (-not $link) { $item.Attributes = [IO.FileAttributes]::Normal }
    if ($item.PSIsContainer) { [IO.Directory]::Delete($native, $false) } else { [IO.File]::Delete($native) }
}

# UTF-8 without byte order mark, line ends as given.
function Write-TextFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [AllowEmptyString()] [string] $Content)
    $encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
    [IO.File]::WriteAllText((New-Partial -Target $Path), $Content, $encoding)
    Move-Partial -Target $Path
}

# The proxies of the machine's environment, which the plan sets before the first download. A process that started
# before that does not have them, and curl asks nothing else.
function Get-ProxyEnvironment {
    [CmdletBinding()]
    param()
    $found = @{}
    foreach ($name in 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY') {
        $value = Get-RegistryValue -Key (Get-EnvironmentKey) -Name $name
        if ($null -ne $value) { $found[$name] = "$($value.data)" }
    }
    $found
}

# Starts, or starts again, the program that downloads an item.
function Start-Download {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $command = Get-DownloadCommand -Url $Job.item.url -Path $Job.partial
    $line = Join-Argument -Arguments $command.arguments
    $Job.native = Start-Native -Program $command.program -ArgumentLine $line -Environment (Get-ProxyEnvironment)
    $Job.tries++
}

function Start-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Item)
    $job = @{ item = $Item; partial = (New-Partial -Target $Item.path); tries = 0; pause = 0; native = $null }
    $job.clock = [Diagnostics.Stopwatch]::StartNew()
    Start-Download -Job $job
    $job
}

# After a failure: whether the download is started again, a little later. curl's own --retry covers no connection
# that was refused, reset or cut off. 22 is an HTTP error, 37 a file that cannot be read.
function Test-Retry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job, [Parameter(Mandatory)] [int] $Code)
    if ($Code -in 22, 37 -or $Job.tries -gt 5) { return $false }
    $Job.native.process.Dispose()
    $Job.native = $null
    $Job.pause = $Job.clock.ElapsedMilliseconds + 500 * $Job.tries
    $true
}

# $true when the download is done, checked and under its name; throws when it cannot be.
function Complete-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $item = $Job.item
    $url = $item.url.Split('?')[0] # what follows may be a secret
    if ($null -eq $Job.native -or -not $Job.native.process.HasExited) {
        if ($Job.clock.ElapsedMilliseconds -ge 1000 * $item.seconds) {
            throw "$($item.name): time limit of $($item.seconds) s reached while downloading $url"
        }
        if ($null -eq $Job.native -and $Job.clock.ElapsedMilliseconds -ge $Job.pause) { Start-Download -Job $Job }
        return $false
    }
    $code = $Job.native.process.ExitCode
    if ($code -ne 0) {
        $message = $Job.native.errors.Result.Trim()
        if (Test-Retry -Job $Job -Code $code) { return $false }
        throw "$($item.name): download of $url failed (curl $code, $($Job.tries) tries): $message"
    }
    $found = Get-Digest -Path $Job.partial -Algorithm $item.algorithm
    if ($found -cne $item.digest) { throw "$($item.name): digest of $url is $found, pinned is $($item.digest)" }
    Move-Partial -Target $item.path
    $true
}

# Downloads several files at a time: each { name, url, path, algorithm, digest, seconds }. Whatever happens,
# nothing unchecked is left under a path.
function Save-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable[]] $Items, [int] $AtOnce = 6)
    $running = New-Object -TypeName Collections.ArrayList
    $next = 0
    try {
        while ($next -lt $Items.Count -or $running.Count -gt 0) {
            while ($next -lt $Items.Count -and $running.Count -lt $AtOnce) {
                $null = $running.Add((Start-PinnedFile -Item $Items[$next]))
                $next++
            }
            foreach ($job in $running.ToArray()) {
                if (Complete-PinnedFile -Job $job) { $running.Remove($job) }
            }
            Start-Sleep -Milliseconds 50
        }
    } finally {
        foreach ($job in $running.ToArray()) {
            if ($null -ne $job.native) {
                Stop-ProcessTree -Process $job.native.process
                $job.native.process.WaitForExit()
            }
            if ([IO.File]::Exists($job.partial)) { [IO.File]::Delete($job.partial) }
        }
    }
}

# A file of that digest that came with the plan is taken in the place of the URL; its bytes are checked as ever.
function Select-Source {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Url, [Parameter(Mandatory)] [string] $Digest)
    $path = Join-Path -Path $script:Root -ChildPath "artifacts/$Digest"
    # Three slashes: a path alone is an absolute URI on Windows only.
    if ([IO.File]::Exists($path)) { return ([uri]"file:///$($path.Replace('\', '/').TrimStart('/'))").AbsoluteUri }
    $Url
}

# The pinned bytes at a path: those that are there, if their digest is the pinned one, else a download.
function Confirm-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Url, [Parameter(Mandatory)] [string] $Path,
        [Parameter(Mandatory)] [string] $Algorithm, [Parameter(Mandatory)] [string] $Digest)
    if ((Get-Digest -Path $Path -Algorithm $Algorithm) -ceq $Digest) { return }
    $seconds = [int][Math]::Ceiling((Get-TimeLeft -Doing 'starting a download') / 1000)
    $item = @{ name = $script:Current.name; path = $Path; algorithm = $Algorithm; digest = $Digest }
    $item.url = Select-Source -Url $Url -Digest $Digest
    $item.seconds = $seconds
    Save-PinnedFile -Items @($item)
}

# Where an artifact waits between the download of everything and its turn.
function Get-CachePath {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Digest)
    Join-Path -Path $script:Root -ChildPath "cache/$($Digest.Substring(0, 32))"
}

function Copy-ZipMember {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Archive, [Parameter(Mandatory)] [object[]] $Members)
    Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
    $zip = [IO.Compression.ZipFile]::OpenRead((Resolve-NativePath -Path $Archive))
    try {
        foreach ($item in $Members) {
            $null = Get-TimeLeft -Doing "taking $($item.member) out of $Archive"
            $entry = $zip.GetEntry($item.member)
            if ($null -eq $entry) { throw "$Archive holds no $($item.member)" }
            $partial = New-Partial -Target $item.path
            [IO.Compression.ZipFileExtensions]::ExtractToFile($entry, $partial, $true)
            Move-Partial -Target $item.path
        }
    } finally {
        $zip.Dispose()
    }
}

# Copied out of the unpacking folder, not moved: a moved file keeps the access of the folder it came from.
function Copy-TarMember {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Archive, [Parameter(Mandatory)] [object[]] $Members)
    $source = Resolve-NativePath -Path $Archive
    $folder = "$source.d"
    $null = [IO.Directory]::CreateDirectory($folder)
    try {
        Expand-TarMember -Archive $source -Destination $folder -Members @($Members | ForEach-Object { $_.member })
        foreach ($item in $Members) {
            $found = "$folder/$($item.member)"
            if (-not [IO.File]::Exists($found)) { throw "$Archive holds no $($item.member)" }
            [IO.File]::Copy($found, (New-Partial -Target $item.path), $true)
            Move-Partial -Target $item.path
        }
    } finally {
        Remove-Tree -Path $folder
    }
}

# A task's name may have a path, `Folder\Name`; Windows wants the two apart.
function Split-TaskName {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name)
    $whole = $Name.TrimStart('\')
    $leaf = $whole.Split('\')[-1]
    @{ TaskName = $leaf; TaskPath = '\' + $whole.Substring(0, $whole.Length - $leaf.Length) }
}

# The text of a script resource with what stands before and after it: its errors go to the standard output, and its
# text is UTF-8, which is what Invoke-Native reads. Not every process has a console to set that for.
function Get-ScriptFrame {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    @(
        "`$ErrorActionPreference = 'Stop'"
        "`$ProgressPreference = 'SilentlyContinue'"
        '$encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false'
        'try { [Console]::OutputEncoding = $encoding } catch { $null }'
        'try {'
        $Text
        '} catch {'
        '[Console]::Out.WriteLine($_.Exception.Message)'
        'exit 1'
        '}'
    ) -join "`n"
}

# The engine's memory of a resource whose state cannot be read from the machine alone.
function Get-RecordPath {
    $digest = Get-ByteDigest -Bytes ([Text.Encoding]::UTF8.GetBytes($script:Current.name))
    Join-Path -Path $script:Root -ChildPath "state/$($digest.Substring(0, 32)).json"
}

function Read-Record {
    $path = Get-RecordPath
    if (-not [IO.File]::Exists($path)) { return $null }
    [IO.File]::ReadAllText($path) | ConvertFrom-Json
}

function Write-Record {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Record)
    Write-TextFile -Path (Get-RecordPath) -Content (ConvertTo-Json -InputObject $Record -Depth 4)
}

# The wanted list where the found one has the same members in another order or case, else the found one.
function Select-Order {
    [CmdletBinding()]
    param([string[]] $Wanted = @(), [string[]] $Found = @())
    $left = @($Wanted | Sort-Object) -join "`n"
    $right = @($Found | Sort-Object) -join "`n"
    if ($null -ne $Wanted -and $left -ieq $right) { $Wanted } else { $Found }
}

function ConvertFrom-Hex {
    [CmdletBinding()]
    param([string] $Text = '')
    $bytes = New-Object -TypeName 'byte[]' -ArgumentList ($Text.Length / 2)
    for ($i = 0; $i -lt $bytes.Length; $i++) { $bytes[$i] = [Convert]::ToByte($Text.Substring(2 * $i, 2), 16) }
    , $bytes
}

# The registry's FailureActions: reset period, two texts, count, offset; then pairs of kind and milliseconds.
function ConvertFrom-FailureAction {
    [CmdletBinding()]
    param([string] $Hex = '')
    $kinds = @('none', 'restart', 'reboot', 'command')
    if ($Hex.Length -lt 40) { return @{ resetSeconds = 0; actions = @() } }
    $bytes = ConvertFrom-Hex -Text $Hex
    $actions = @(for ($i = 0; $i -lt [BitConverter]::ToInt32($bytes, 12); $i++) {
        $delay = [BitConverter]::ToUInt32($bytes, 24 + 8 * $i) / 1000
        @{ action = $kinds[[BitConverter]::ToInt32($bytes, 20 + 8 * $i)]; delaySeconds = $delay }
    })
    @{ resetSeconds = [BitConverter]::ToUInt32($bytes, 0); actions = $actions }
}

# Waits, in the time of the resource in hand, until a service is running or stopped. A service that stops while
# it starts is started up to three times, because something that it needs may start later.
function Wait-ServiceState {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [string] $State)
    $asked = 0
    while ($true) {
        $service = Get-ServiceConfig -Name $Name
        if ($null -eq $service) { throw "there is no service $Name" }
        if ($service.state -eq $State) { return }
        if ($asked -eq 0 -or ($State -eq 'running' -and $service.state -eq 'stopped')) {
            if ($asked -eq 3) {
                throw "service $Name stopped while it was starting, exit code $($service['exitCode'])"
            }
            $asked++
            Request-ServiceState -Name $Name -State $State
        }
        $null = Get-TimeLeft -Doing "waiting for service $Name to be $State"
        Start-Sleep -Milliseconds 200
    }
}

# Pinned downloads, several at a time. Loaded by Tools.ps1.

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

# A file of that digest that came with the plan or lies on a disc is taken in the place of the URL; its bytes are
# checked as ever. Names on a disc are short.
function Select-Source {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Url, [Parameter(Mandatory)] [string] $Digest)
    $paths = @(Join-Path -Path $script:Root -ChildPath "artifacts/$Digest")
    foreach ($drive in [IO.DriveInfo]::GetDrives()) {
        if ($drive.DriveType -ne 'CDRom' -or -not $drive.IsReady) { continue }
        $paths += "$($drive.Name)artifacts/$($Digest.Substring(0, 32))"
    }
    foreach ($path in $paths) {
        if (-not [IO.File]::Exists($path)) { continue }
        # Three slashes: a path alone is an absolute URI on Windows only.
        return ([uri]"file:///$($path.Replace('\', '/').TrimStart('/'))").AbsoluteUri
    }
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

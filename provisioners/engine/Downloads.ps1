# Pinned downloads, several at a time. Loaded by Tools.ps1.

# The plan's property `allowedHosts`, which Invoke-Phase reads; $null where the plan has none. Not the list itself,
# because an empty list allows no host.
$script:AllowedHosts = $null

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

# Scheme and host of a URL that every program reads in the same way: http or https, no user, nothing encoded in the
# host. $null for any other text.
function Split-DownloadUrl {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Url)
    $form = '\A([A-Za-z]+)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?#][!#-\[\]-~]*)?\z'
    # The URL becomes part of a command line, which has at most 32,767 characters.
    if ($Url.Length -gt 8192 -or $Url -cnotmatch $form) { return $null }
    $parts = @{ scheme = $Matches[1].ToLowerInvariant(); host = $Matches[2].ToLowerInvariant() }
    if ($parts.scheme -notin 'http', 'https') { return $null }
    $parts
}

# Whether the plan allows a host in lower case, compared as in src/model/policy.rs: a pattern is the whole name, or
# `*.` and a domain for the names below it. No text is a wildcard of PowerShell.
function Test-AllowedHost {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $HostName)
    if ($null -eq $script:AllowedHosts) { return $true }
    foreach ($pattern in $script:AllowedHosts.Value) {
        $text = $pattern.ToLowerInvariant()
        if ([string]::Equals($text, $HostName, [StringComparison]::Ordinal)) { return $true }
        if (-not $text.StartsWith('*.', [StringComparison]::Ordinal)) { continue }
        if ($HostName.EndsWith($text.Substring(1), [StringComparison]::Ordinal)) { return $true }
    }
    $false
}

# Refuses the URL of a host that the plan does not allow. A file of this machine has no host.
function Assert-AllowedUrl {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Item)
    if ($null -eq $script:AllowedHosts -or $Item.url.StartsWith('file:', [StringComparison]::Ordinal)) { return }
    $parts = Split-DownloadUrl -Url $Item.url
    if ($null -ne $parts -and (Test-AllowedHost -HostName $parts.host)) { return }
    throw "$($Item.name): allowedHosts of the plan does not allow the host of $($Item.url.Split('?')[0])"
}

# Where a download comes from, for messages. What follows a question mark may be a secret.
function Format-Source {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $pinned = $Job.item.url.Split('?')[0]
    $parts = Split-DownloadUrl -Url $Job.url
    if ($null -eq $parts -or $Job.redirects -eq 0) { return $pinned }
    "$pinned (redirected to $($parts.host))"
}

# The URL that the server names in the place of the file; $null where curl got the file. curl itself follows no
# redirect, because it would ask any host. The rules are those of src/io/http.rs.
function Get-RedirectTarget {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $target = $Job.native.output.Result.Trim()
    if ($target -eq '' -or $Job.url.StartsWith('file:', [StringComparison]::Ordinal)) { return $null }
    $redirects = "$($Job.item.name): $(Format-Source -Job $Job) redirects"
    $parts = Split-DownloadUrl -Url $target
    if ($null -eq $parts) { throw "$redirects to a URL that is refused: expected https, a host and no user" }
    if ($parts.scheme -ceq 'http' -and $Job.url.StartsWith('https:', [StringComparison]::OrdinalIgnoreCase)) {
        throw "$redirects to plain HTTP on $($parts.host)"
    }
    if (-not (Test-AllowedHost -HostName $parts.host)) {
        throw "$redirects to $($parts.host), which allowedHosts of the plan does not allow"
    }
    if ($Job.redirects -ge 5) { throw "$redirects once more, after 5 redirects" }
    $target
}

# Starts, or starts again, the program that downloads an item.
function Start-Download {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $command = Get-DownloadCommand -Url $Job.url -Path $Job.partial
    $line = Join-Argument -Arguments $command.arguments
    $Job.native = Start-Native -Program $command.program -ArgumentLine $line -Environment (Get-ProxyEnvironment)
    if ($Job.redirects -eq 0) { $Job.tries++ }
}

function Start-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Item)
    Assert-AllowedUrl -Item $Item
    $job = @{ item = $Item; partial = (New-Partial -Target $Item.path); tries = 0; pause = 0; native = $null }
    $job.url = $Item.url
    $job.redirects = 0
    $job.clock = [Diagnostics.Stopwatch]::StartNew()
    Start-Download -Job $job
    $job
}

# The program of a job has ended: the next one starts after a pause.
function Reset-Download {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job, [Parameter(Mandatory)] [string] $Url,
        [Parameter(Mandatory)] [int] $Redirects, [int] $Pause = 0)
    $Job.native.process.Dispose()
    $Job.native = $null
    $Job.url = $Url
    $Job.redirects = $Redirects
    $Job.pause = $Job.clock.ElapsedMilliseconds + $Pause
}

# After a failure: whether the download is started again from its first URL, a little later. curl's own --retry
# covers no connection that was refused, reset or cut off. 22 is an HTTP error, 37 a file that cannot be read.
function Test-Retry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job, [Parameter(Mandatory)] [int] $Code)
    if ($Code -in 22, 37 -or $Job.tries -gt 5) { return $false }
    Reset-Download -Job $Job -Url $Job.item.url -Redirects 0 -Pause (500 * $Job.tries)
    $true
}

# $true when the download is done, checked and under its name; throws when it cannot be.
function Complete-PinnedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Job)
    $item = $Job.item
    $url = Format-Source -Job $Job
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
    $target = Get-RedirectTarget -Job $Job
    if ($null -ne $target) {
        Reset-Download -Job $Job -Url $target -Redirects ($Job.redirects + 1)
        return $false
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

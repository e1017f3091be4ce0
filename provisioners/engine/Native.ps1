# Time limits, and native programs that keep to them. Loaded by Tools.ps1.

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
        # Nothing to tell: a process without a console has no encoding of one.
        $null = $_
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
    @{
        process = $process
        output = $process.StandardOutput.ReadToEndAsync()
        errors = $process.StandardError.ReadToEndAsync()
    }
}

# Gives a program its input. One that reads none holds nobody longer than its time, and one that ends before it has
# read all says by its exit code what that means.
function Send-NativeInput {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Native, [Parameter(Mandatory)] [string] $Text,
        [Parameter(Mandatory)] [string] $Doing)
    # Not through the writer, which may add a byte order mark.
    $stream = $Native.process.StandardInput.BaseStream
    $bytes = [Text.Encoding]::UTF8.GetBytes($Text)
    $sent = [Threading.Tasks.Task[]]@($stream.WriteAsync($bytes, 0, $bytes.Length))
    # Unlike Wait, it does not throw where the write failed.
    if ([Threading.Tasks.Task]::WaitAny($sent, (Get-TimeLeft -Doing $Doing)) -lt 0) {
        throw "time limit of $($script:Current.seconds) s reached while $Doing and read no input"
    }
    try {
        $stream.Dispose()
    } catch [IO.IOException] {
        # A short text is written here, and nobody reads it any more.
        $null = $_
    }
}

# Runs a program within the time of the resource in hand. No accepted codes: the caller looks at the code.
function Invoke-Native {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Program, [string[]] $Arguments = @(), [string] $ArgumentLine = '',
        [int[]] $Accept = @(0), [string] $InputText = '', [hashtable] $Environment = @{})
    if (-not $ArgumentLine) { $ArgumentLine = Join-Argument -Arguments $Arguments }
    $doing = "$Program was running"
    $with = @{ InputText = $InputText; Environment = $Environment }
    $native = Start-Native -Program $Program -ArgumentLine $ArgumentLine @with
    try {
        if ($InputText) { Send-NativeInput -Native $native -Text $InputText -Doing $doing }
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

# Suites in processes of their own, each with a time limit that holds whatever it waits for. Loaded by real.ps1.

# One suite by its name, in the process that is for it.
function Invoke-NamedSuite {
    param([string] $Name)
    $before = $script:Passed, $script:Failures.Count
    $script:Laws = @{}
    Add-Event -Fields @{ suite = $Name; state = 'begun' }
    Invoke-Suite -Name $Name -Block {
        switch ($Name) {
            'Get-Case' { $script:Cases = @(Get-Case) }
            { $_ -in 'Test-Life', 'Test-Failure', 'Remove-Everything' } { & $Name -Cases $script:Cases }
            default { & $Name }
        }
    }
    $failures = @($script:Failures | Select-Object -Skip $before[1])
    $ended = @{ suite = $Name; state = 'ended'; passed = $script:Passed - $before[0]; failures = $failures }
    $ended.laws = $script:Laws
    Add-Event -Fields $ended
}

function Add-Event {
    param([hashtable] $Fields)
    $line = ConvertTo-Json -InputObject $Fields -Compress -Depth 6
    [IO.File]::AppendAllText($script:Events, "$line`n")
}

# Events that were written so far; the last line may not be whole yet.
function Read-Event {
    param([string] $Path)
    if (-not [IO.File]::Exists($Path)) { return }
    $stream = [IO.File]::Open($Path, 'Open', 'Read', 'ReadWrite')
    try {
        $reader = New-Object -TypeName IO.StreamReader -ArgumentList $stream
        $text = $reader.ReadToEnd()
    } finally {
        $stream.Dispose()
    }
    foreach ($line in $text.Substring(0, $text.LastIndexOf("`n") + 1).Split("`n")) {
        if ($line) { ConvertFrom-Json -InputObject $line }
    }
}

# The process of some suites: this script once more, by the same PowerShell.
function Start-SuiteProcess {
    param([string[]] $Names, [string] $Path, [string] $Provisioners, [string] $Session)
    $shell = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
    $words = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', "$PSScriptRoot\..\real.ps1")
    $words += @('-Provisioners', $Provisioners, '-Seconds', "$script:Seconds")
    $words += @('-Suites', ($Names -join ','), '-Events', $Path)
    if ($Session -eq 'network') {
        # Of a remote session the process is a child of its host, which ends with this one.
        $given = @{ ComputerName = 'localhost'; ArgumentList = $shell, (Join-Argument -Arguments $words) }
        $words = @('-NoProfile', '-NonInteractive', '-Command')
        $block = { param($Shell, $Line) $null = [Diagnostics.Process]::Start($Shell, $Line).WaitForExit() }
        $text = "Invoke-Command -ComputerName localhost -ScriptBlock {$block} -ArgumentList "
        $words += $text + (@($given.ArgumentList | ForEach-Object { "'" + $_.Replace("'", "''") + "'" }) -join ',
            ')
    }
    $start = New-Object -TypeName Diagnostics.ProcessStartInfo -ArgumentList $shell,
        (Join-Argument -Arguments $words)
    $start.UseShellExecute = $false
    [Diagnostics.Process]::Start($start)
}

# Runs suites one after the other. One that takes too long is ended with its process, and the next begins in
# another; those that belong together end with it.
function Invoke-Watched {
    param([string[]] $Names, [switch] $Together, [string] $Provisioners, [string] $Session)
    $left = $Names
    while ($left.Count -gt 0) {
        $path = "$script:Root\events-$([guid]::NewGuid()).jsonl"
        $process = Start-SuiteProcess -Names $left -Path $path -Provisioners $Provisioners -Session $Session
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $count = 0
        while (-not $process.WaitForExit(500)) {
            $found = @(Read-Event -Path $path).Count
            if ($found -ne $count) { $clock.Restart() }
            $count = $found
            if ($clock.Elapsed.TotalSeconds -lt $script:Seconds) { continue }
            Stop-ProcessTree -Process $process
            break
        }
        $all = @(Read-Event -Path $path)
        Add-Result -Events $all
        $ended = @($all | Where-Object { $_.state -eq 'ended' } | ForEach-Object { $_.suite })
        $left = @($left | Where-Object { $_ -notin $ended })
        if ($left.Count -eq 0) { return }
        $why = "no end within $script:Seconds s, or its process ended with $($process.ExitCode)"
        Assert-That -Name "$($left[0]) comes to its end" -Holds $false -Detail $why
        if ($Together) { return }
        $left = @($left | Select-Object -Skip 1)
    }
}

# What suites of another process have found.
function Add-Result {
    param([object[]] $Events)
    foreach ($one in $Events | Where-Object { $_.state -eq 'ended' }) {
        $script:Passed += $one.passed
        foreach ($failure in $one.failures) {
            $script:Failed++
            $script:Failures += @{ check = $failure.check; detail = $failure.detail }
        }
        foreach ($law in $one.laws.PSObject.Properties) {
            $isKnown = $script:Laws.ContainsKey($law.Name) -and $script:Laws[$law.Name].result -eq 'differs'
            if ($isKnown) { continue }
            $script:Laws[$law.Name] = @{ result = $law.Value.result; detail = $law.Value.detail }
        }
    }
}

# Processes that run cases, and their results as one report. Loaded by run.ps1.

# Files of cases, the longest first; with names or tags those that have one of them.
function Select-CaseFile {
    param([string[]] $Case = @(), [string[]] $Tag = @())
    $files = Get-ChildItem -LiteralPath "$PSScriptRoot/.." -Recurse -Filter '*.Tests.ps1'
    foreach ($file in $files | Sort-Object -Property 'Length' -Descending) {
        $text = [IO.File]::ReadAllText($file.FullName)
        $cases = @([regex]::Matches($text, "(?m)^Describe '([^']+)'") | ForEach-Object { $_.Groups[1].Value })
        $asked = @(foreach ($name in $Case) { $cases | Where-Object { $_ -like $name.Split('.')[0] } })
        $asked += @($Tag | Where-Object { $text.Contains("-Tag '$_'") })
        if ($asked.Count -gt 0 -or $Case.Count + $Tag.Count -eq 0) { $file.FullName }
    }
}

# Items of { path, plan, names, tags, provisioners }; each gets the place of its report.
function Write-Queue {
    param([string] $Work, [hashtable[]] $Items)
    $null = [IO.Directory]::CreateDirectory("$Work/queue")
    for ($number = 0; $number -lt $Items.Count; $number++) {
        $name = '{0:d4}' -f $number
        $Items[$number].report = "$Work/report-$name.xml"
        $text = ConvertTo-Json -InputObject $Items[$number] -Compress
        [IO.File]::WriteAllText("$Work/queue/$name.json", $text)
    }
}

# A process that takes files from the queue until none is left.
function Start-Worker {
    param([string] $Work, [int] $Number)
    $start = New-Object -TypeName Diagnostics.ProcessStartInfo
    $start.FileName = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
    foreach ($argument in '-NoProfile', '-NonInteractive', '-File', "$PSScriptRoot/worker.ps1", '-Work', $Work) {
        $start.ArgumentList.Add($argument)
    }
    $start.Environment['IMAGEGEN_SIMULATION'] = "$Work/world-$Number"
    # Most of the time goes into code that is compiled and runs once.
    $start.Environment['DOTNET_TieredPGO'] = '0'
    $start.Environment['DOTNET_EnableWriteXorExecute'] = '0'
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $process = [Diagnostics.Process]::Start($start)
    @{
        process = $process
        output = $process.StandardOutput.ReadToEndAsync()
        errors = $process.StandardError.ReadToEndAsync()
    }
}

# What it said, once it has ended.
function Wait-Worker {
    param([hashtable] $Worker)
    $Worker.process.WaitForExit()
    "$($Worker.output.Result)`n$($Worker.errors.Result)"
}

# One report of several.
function Join-Report {
    param([string[]] $Files)
    $all = [xml]'<testsuites name="guest"/>'
    $counts = [ordered]@{ tests = 0; failures = 0; errors = 0; disabled = 0; time = [double]0 }
    foreach ($file in $Files) {
        $one = [xml][IO.File]::ReadAllText($file)
        foreach ($suite in $one.SelectNodes('/testsuites/testsuite')) {
            $null = $all.DocumentElement.AppendChild($all.ImportNode($suite, $true))
            foreach ($name in @($counts.Keys)) {
                $value = [double]::Parse($suite.GetAttribute($name), [cultureinfo]::InvariantCulture)
                $counts[$name] += $value
            }
        }
    }
    foreach ($name in $counts.Keys) {
        $value = [string]::Format([cultureinfo]::InvariantCulture, '{0}', $counts[$name])
        $all.DocumentElement.SetAttribute($name, $value)
    }
    $all
}

# Names of names.tsv, by which tests were known before Pester ran them, that no test of today stands for.
function Find-LostName {
    param([xml] $Results)
    $ran = @{}
    foreach ($test in $Results.SelectNodes('//testcase')) { $ran[$test.GetAttribute('name')] = $true }
    foreach ($line in [IO.File]::ReadAllLines("$PSScriptRoot/../names.tsv") | Select-Object -Skip 1) {
        $case, $old, $new = $line.Split("`t")
        # What a set-up checked is thrown by it now.
        if (-not $ran.ContainsKey($new) -and -not $new.StartsWith('world/')) { "${case}: $old, now $new" }
    }
}

# Tells each failure, and counts.
function Write-Outcome {
    param([xml] $Results)
    $counts = @{ passed = 0; failed = 0; skipped = 0 }
    foreach ($test in $Results.SelectNodes('//testcase')) {
        $status = $test.GetAttribute('status')
        if ($status -eq 'Passed') {
            $counts.passed++
        } elseif ($status -in 'Failed', 'Inconclusive') {
            $counts.failed++
            [Console]::Out.WriteLine("FAILED: $($test.GetAttribute('name'))")
            foreach ($failure in $test.SelectNodes('failure')) {
                [Console]::Out.WriteLine("    $($failure.GetAttribute('message'))`n$($failure.InnerText)")
            }
        } else {
            $counts.skipped++
        }
    }
    $counts
}

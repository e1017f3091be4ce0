# Whole phases of rendered plans, twice, with drift by hand between; and the installer, killed and run again.

# Breaks a resource as somebody with a shell would; nothing where it cannot be broken by itself.
function Edit-Resource {
    param($Resource)
    $properties = $Resource.properties
    $isAbsent = $null -ne $properties.PSObject.Properties['ensure'] -and $properties.ensure -eq 'absent'
    switch ($Resource.type) {
        'registryValue' {
            $key = Open-RegistryKey -Key $properties.key -Write
            try { $key.SetValue($properties.valueName, 'broken by hand', 'String') } finally { $key.Dispose() }
            return $true
        }
        { $_ -in 'file', 'artifact' } {
            if ($isAbsent) { return $false }
            [IO.File]::AppendAllText($properties.path, 'x')
            return $true
        }
        'environmentVariable' {
            [Environment]::SetEnvironmentVariable($properties.variable, 'broken', 'Machine')
            return $true
        }
        'pathEntry' {
            $key = Open-RegistryKey -Key (Get-EnvironmentKey) -Write
            try {
                $path = $key.GetValue('Path', '', 'DoNotExpandEnvironmentNames')
                $path = @($path.Split(';') | Where-Object { $_ -ne $properties.entry }) -join ';'
                $key.SetValue('Path', $path, 'ExpandString')
            } finally {
                $key.Dispose()
            }
            return $true
        }
        default { return $false }
    }
}

function Test-Plan {
    foreach ($folder in Get-ChildItem -LiteralPath $Workspaces -Directory) {
        foreach ($old in 'C:\imagegen', 'C:\k') {
            if ([IO.Directory]::Exists($old)) { Remove-Item -LiteralPath $old -Recurse -Force }
        }
        $null = [IO.Directory]::CreateDirectory('C:\imagegen')
        $plan = Copy-Payload -From $folder.FullName -To 'C:\imagegen'
        # Broken by hand below, by the abilities themselves.
        . 'C:\imagegen\engine\Tools.ps1'
        . $script:Platform
        Initialize-Machine -Plan $plan
        $phases = 'bootstrap', 'prepare', 'install'
        foreach ($turn in 'first', 'second') {
            foreach ($phase in $phases) {
                $ran = Invoke-Engine -Phase $phase
                Assert-That -Name "$($folder.Name): $phase, $turn" -Holds ($ran.code -eq 0) -Detail $ran.told
                if ($turn -eq 'second') {
                    $name = "$($folder.Name): $phase changes nothing the second time"
                    Assert-That -Name $name -Holds ($ran.changed -eq 0) -Detail ($ran.lines -match '\] changed ')
                }
            }
        }
        $ran = Invoke-Engine -Phase 'test' -Mode 'test'
        Assert-That -Name "$($folder.Name): all is as planned" -Holds ($ran.code -eq 0) -Detail $ran.told
        Test-Drift -Plan $plan -Name $folder.Name
        # What a platform writes on a clone is volatile: the suite for real clones says so here, too.
        $isWritten = @($plan.resources | Where-Object { $_.PSObject.Properties['volatile'] -and
            $_.volatile.PSObject.Properties['data'] }).Count
        if ($isWritten) { Test-Clone -Name $folder.Name }
    }
}

function Test-Clone {
    param([string] $Name)
    $process = Start-Shell -File "$PSScriptRoot\..\..\guest\real-clone.ps1" -Words '-Platform', $script:Platform
    $code = 'time limit'
    if ($process.WaitForExit(120000)) { $code = $process.ExitCode } else { $process.Kill() }
    Assert-That -Name "${Name}: a clone joins, whatever its platform writes" -Holds ($code -eq 0) -Detail $code
}

function Test-Drift {
    param($Plan, [string] $Name)
    $phases = 'bootstrap', 'prepare', 'install'
    $broken = @($Plan.resources | Where-Object { $_.phase -in $phases } |
            Where-Object { Edit-Resource -Resource $_ } | ForEach-Object { $_.name })
    Assert-That -Name "${Name}: much is broken" -Holds ($broken.Count -gt 60) -Detail $broken.Count
    $ran = Invoke-Engine -Phase 'test' -Mode 'test'
    $missed = @($broken | Where-Object { $_ -notin $ran.differing })
    Assert-That -Name "${Name}: each drift is found" -Holds ($missed.Count -eq 0) -Detail ($missed -join ', ')
    foreach ($phase in $phases) {
        $ran = Invoke-Engine -Phase $phase
        Assert-That -Name "${Name}: $phase repairs" -Holds ($ran.code -eq 0) -Detail $ran.told
    }
    $ran = Invoke-Engine -Phase 'test' -Mode 'test'
    Assert-That -Name "${Name}: each drift is repaired" -Holds ($ran.code -eq 0) -Detail $ran.told
}

# Ends the installer after so many lines of its log, as a power cut does.
function Stop-Installer {
    param([string] $Source, [int] $Lines)
    $before = 0
    $log = 'C:\imagegen\install.log'
    if ([IO.File]::Exists($log)) { $before = [IO.File]::ReadAllLines($log).Count }
    $process = Start-Shell -File "$Source\Install.ps1" -Words '-MinimumFreeGB', '1', '-Platform', $script:Platform
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while (-not $process.HasExited -and $clock.Elapsed.TotalSeconds -lt 60) {
        Start-Sleep -Milliseconds 50
        if (-not [IO.File]::Exists($log)) { continue }
        $stream = [IO.File]::Open($log, 'Open', 'Read', 'ReadWrite, Delete')
        try {
            $reader = New-Object -TypeName IO.StreamReader -ArgumentList $stream
            $count = $reader.ReadToEnd().Split("`n").Count
        } finally {
            $stream.Dispose()
        }
        if ($count - $before -ge $Lines) { $process.Kill() }
    }
    if (-not $process.HasExited) { $process.Kill() }
    $null = $process.WaitForExit(60000)
    $process.ExitCode
}

function Test-Install {
    $from = @(Get-ChildItem -LiteralPath $Workspaces -Directory |
            Where-Object { [IO.File]::Exists("$($_.FullName)\Install.ps1") })[0].FullName
    foreach ($old in 'C:\imagegen', 'C:\k', 'C:\source') {
        if ([IO.Directory]::Exists($old)) { Remove-Item -LiteralPath $old -Recurse -Force }
    }
    $null = [IO.Directory]::CreateDirectory('C:\source')
    Initialize-Machine -Plan (Copy-Payload -From $from -To 'C:\source')
    foreach ($lines in 10, 40, 60) {
        $code = Stop-Installer -Source 'C:\source' -Lines $lines
        Assert-That -Name "it is killed after $lines lines" -Holds ($code -ne 0) -Detail $code
    }
    $code = Stop-Installer -Source 'C:\source' -Lines 100000
    $text = [IO.File]::ReadAllText('C:\imagegen\install.log')
    $last = $text.Substring([Math]::Max(0, $text.Length - 900))
    Assert-That -Name 'it is done in the end' -Holds ($code -eq 0) -Detail "$code $last"
    $progress = [IO.File]::ReadAllText('C:\imagegen\install.json') | ConvertFrom-Json
    Assert-That -Name 'its record says so' -Holds ($progress.state -eq 'done') -Detail $progress.state
    $left = @(Get-ChildItem -LiteralPath 'C:\imagegen', 'C:\k' -Recurse -Filter '*.partial' |
        ForEach-Object { $_.FullName })
    Assert-That -Name 'nothing is left half written' -Holds ($left.Count -eq 0) -Detail ($left -join ', ')
}

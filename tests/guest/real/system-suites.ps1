# Accounts, logs, and what a user starts: Install.ps1. Loaded by real.ps1.

function Test-Account {
    Confirm-Law -Law 'account.administrator' -Holds (Test-Administrator) -Detail 'this process is elevated'
    $found = Get-AccountId
    Confirm-Law -Law 'account.identifier' -Holds ($found -match '^S-1-5-') -Detail $found
    # PowerShell 7 knows accounts of not every Windows.
    if ("$($PSVersionTable['PSEdition'])" -eq 'Core') { return }
    Confirm-Refusal -Law 'account.absent' -Block { Set-UserState -Name 'imagegen-none' -State 'disabled' }
    $all = @(Get-LocalUser -ErrorAction Stop)
    $found = @($all | Where-Object { Test-BuiltInAdministrator -Name $_.Name } | ForEach-Object { $_.Name })
    Confirm-Law -Law 'account.built-in' -Holds ($found.Count -eq 1) -Detail ($found -join ', ')
    $ids = @("$(Get-UserId -Name $found[0])", "$(Get-UserId -Name 'imagegen-none')")
    $state = Get-UserState -Name 'imagegen-none'
    Confirm-Law -Law 'account.not-found' -Holds ($state -eq 'absent' -and $ids[1] -eq '') -Detail "$state, $ids"
    Confirm-Law -Law 'account.user-id' -Holds ($ids[0].EndsWith('-500') -and $ids[1] -eq '') -Detail $ids
}

function Test-Diagnosis {
    $word = "imagegen-$([guid]::NewGuid())"
    Write-EventLine -Text "$word `"quoted`""
    $there = Wait-Until -Block { "$(Get-EventText -Hours 1)".Contains($word) }
    Confirm-Law -Law 'diagnosis.event' -Holds $there -Detail $word
    # One of the logs that it asks is not on every Windows.
    Confirm-Law -Law 'diagnosis.no-log' -Holds $there -Detail 'Get-EventText came to its end'
    $page = Get-UrlText -Url 'http://127.0.0.1:9/none'
    Confirm-Law -Law 'diagnosis.url' -Holds ($null -eq $page) -Detail $page
    Confirm-Refusal -Law 'diagnosis.serial' -Block { Write-SerialLine -Port 'COM77,115200,N,8' -Text 'x' }
}

# Install.ps1 -Check where the plan is for another Windows: it says so and changes nothing.
function Test-Check {
    Copy-Item -LiteralPath "$Provisioners\installer\Install.ps1" -Destination "$script:Root\Install.ps1"
    $check = @{ check = 'osBuild'; holds = $true; build = 1; message = 'another Windows' }
    Write-Plan -Resources @((New-Resource -Name 'build' -Type 'assertion' -Properties $check))
    $words = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', "$script:Root\Install.ps1")
    $words += @('-Check', '-MinimumFreeGB', '1')
    $ran = Invoke-Native -Program (Get-PowerShellPath) -Arguments $words -Accept @()
    $holds = $ran.exitCode -eq 2 -and $ran.output.Contains('the plan is for 1')
    Assert-That -Name 'Install.ps1 -Check names what stops it' -Holds $holds -Detail $ran.output

    # What a session carries: the streams of PowerShell, which the console is none of.
    $lines = @(& "$script:Root\Install.ps1" -Check -MinimumFreeGB 1 *>&1 | ForEach-Object { "$_" })
    $holds = ($lines -join "`n").Contains('the plan is for 1')
    Confirm-Law -Law 'engine.check-output' -Holds $holds -Detail ($lines -join "`n")
}

# `powershell.exe -File`, with no parameter but the phase: its defaults are those of the plan beside it.
function Test-Start {
    $program = "$env:SystemRoot\System32\WindowsPowerShell\v1.0\powershell.exe"
    $words = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File')
    $lines = @(& $program @words "$script:Root\engine\Invoke-Plan.ps1" -Phase 'install' -Mode 'test')
    Confirm-Law -Law 'engine.starts' -Holds ($LASTEXITCODE -eq 0) -Detail ($lines -join "`n")
}

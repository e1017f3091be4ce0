# Update packages and the update agent.

function Test-Hotfix {
    [CmdletBinding()]
    param([string] $Kb)
    $found = Get-Existing -Absence 'GetHotFixNoEntriesFound' -Action { Get-HotFix -Id $Kb -ErrorAction Stop }
    $null -ne $found
}

# What came of an update package: `installed`, `restart`, `present`, `notApplicable` or `busy`. wusa.exe: 3010 a
# restart is needed, 2359302 it was there already, 0x80240017 it is not for this Windows or superseded, 0x80240016
# another installation is in progress or waits for a restart. From build 26100 on DISM, which takes checkpoint
# updates out of the package's folder, if it knows them by the names of the cache; a plan that lists a checkpoint
# before what builds on it needs none of that. 0x800f081e it is not for this Windows.
function Install-Hotfix {
    [CmdletBinding()]
    param([string] $Package)
    $program = "$script:System32\wusa.exe"
    $line = "`"$Package`" /quiet /norestart"
    $os = Get-OsBuild
    if ($os.build -ge 26100) {
        $program = "$script:System32\Dism.exe"
        $line = "/Online /Add-Package /PackagePath:`"$Package`" /Quiet /NoRestart"
    }
    # The exit code as an unsigned number, which is how Task Scheduler gives it.
    $code = [long](Invoke-AsSystem -Program $program -ArgumentLine $line)
    $names = @{ '0' = 'installed'; '3010' = 'restart'; '2359302' = 'present'; '2149842967' = 'notApplicable' }
    $names['2148468766'] = 'notApplicable'
    $names['2149842966'] = 'busy'
    if (-not $names.ContainsKey("$code")) { throw "$program exited with $code for $Package" }
    $names["$code"]
}

# What is missing of the wanted, what was not installed, and whether a restart is needed.
function Invoke-UpdateAgent {
    [CmdletBinding()]
    param([string[]] $Kbs = @(), [string[]] $Categories = @(), [string[]] $Except = @(), [bool] $Install)
    $result = Join-Path -Path $script:Root -ChildPath 'state/updates.json'
    $line = "-NoProfile -NonInteractive -ExecutionPolicy $(Get-ChildPolicy) -File `"$PSScriptRoot\..\Update.ps1`""
    $line += " -Result `"$result`" -Kbs `"$($Kbs -join ',')`" -Categories `"$($Categories -join ',')`""
    $line += " -Except `"$($Except -join ',')`""
    if ($Install) { $line += ' -Install' }
    if (Test-Path -LiteralPath $result) { Remove-Item -LiteralPath $result -Force }
    $null = Invoke-AsSystem -Program (Get-PowerShellPath) -ArgumentLine $line
    if (-not (Test-Path -LiteralPath $result)) { throw "the update agent's script left no $result" }
    $outcome = [IO.File]::ReadAllText($result) | ConvertFrom-Json
    if ($outcome.error) { throw "the update agent failed: $($outcome.error)" }
    $outcome
}

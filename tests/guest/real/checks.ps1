# What all suites of real.ps1 use: checks, laws, plans, the engine. Loaded by real.ps1.

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    if ($Holds) {
        $script:Passed++
        return
    }
    $script:Failed++
    $script:Failures += @{ check = $Name; detail = "$Detail" }
    [Console]::Out.WriteLine("FAILED: $Name")
    [Console]::Out.WriteLine("    $Detail")
}

# A law of laws.json as this Windows has it. A law that several checks show holds where all of them do.
function Confirm-Law {
    param([string] $Law, [bool] $Holds, $Detail = '')
    Assert-That -Name "law $Law" -Holds $Holds -Detail $Detail
    $result = 'differs'
    if ($Holds) { $result = 'holds' }
    if ($script:Laws.ContainsKey($Law) -and $script:Laws[$Law].result -eq 'differs') { return }
    $script:Laws[$Law] = @{ result = $result; detail = "$Detail" }
}

# A law by which Windows refuses what the block does, with a text that does not depend on its language.
function Confirm-Refusal {
    param([string] $Law, [scriptblock] $Block, [string] $Text = '')
    $message = ''
    try { $null = & $Block } catch { $message = "$($_.Exception.Message)" }
    $holds = $message -ne '' -and $message.Contains($Text)
    Confirm-Law -Law $Law -Holds $holds -Detail "refused with: $message"
}

# A suite for itself: what it throws is its own failure, and the next one begins.
function Invoke-Suite {
    param([string] $Name, [scriptblock] $Block)
    [Console]::Out.WriteLine("suite: $Name")
    Start-Deadline -Name $Name -Seconds $script:Seconds
    try {
        $null = & $Block
    } catch {
        Assert-That -Name "$Name comes to its end" -Holds $false -Detail "$_`n$($_.ScriptStackTrace)"
    }
}

function Get-FileDigest {
    param([string] $Path)
    $hash = Get-FileHash -LiteralPath $Path -Algorithm SHA256 -ErrorAction Stop
    $hash.Hash.ToLowerInvariant()
}

function Write-Text {
    param([string] $Path, [string] $Text)
    $encoding = New-Object -TypeName Text.UTF8Encoding -ArgumentList $false
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    [IO.File]::WriteAllText($Path, $Text, $encoding)
}

# A file that came with the plan, under its digest; gives the digest.
function Add-Media {
    param([string] $Path)
    $digest = Get-FileDigest -Path $Path
    $null = [IO.Directory]::CreateDirectory("$script:Root\artifacts")
    Copy-Item -LiteralPath $Path -Destination "$script:Root\artifacts\$digest"
    $digest
}

function New-Resource {
    param([string] $Name, [string] $Type, [hashtable] $Properties)
    [ordered]@{
        name = $Name
        step = 'real'
        phase = 'install'
        timeoutSeconds = 120
        type = $Type
        properties = $Properties
    }
}

# The scripts of provisioners beside the plan.
function Copy-Script {
    foreach ($folder in 'engine', 'node', 'resources') {
        foreach ($name in Get-ScriptPath -Root $Provisioners -Folder $folder) {
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$script:Root\$name"))
            Copy-Item -LiteralPath "$Provisioners\$name" -Destination "$script:Root\$name"
        }
    }
}

# The plan of some resources beside the engine. Without hosts it allows every host.
function Write-Plan {
    param([object[]] $Resources, [string[]] $Hosts = @())
    $scripts = [ordered]@{}
    foreach ($folder in 'engine', 'node', 'resources') {
        foreach ($name in Get-ScriptPath -Root $script:Root -Folder $folder) {
            $scripts[$name] = Get-FileDigest -Path "$script:Root\$name"
        }
    }
    $plan = [ordered]@{ schema = 'imagegen.dev/guest-plan/v1'; target = 'host'; windows = 'real' }
    $plan.kubernetes = '1.36.0'
    $plan.scripts = $scripts
    if ($Hosts.Count -gt 0) { $plan.allowedHosts = @($Hosts) }
    $plan.resources = @($Resources)
    Write-Text -Path "$script:Root\guest-plan.json" -Text (ConvertTo-Json -InputObject $plan -Depth 8)
}

# One run of the engine: exit code, outcome and text.
function Invoke-Engine {
    param([string] $Mode)
    $lines = @(& "$script:Root\engine\Invoke-Plan.ps1" -Phase 'install' -Mode $Mode 6>&1 | ForEach-Object { "$_" })
    $code = $LASTEXITCODE
    $text = $lines -join "`n"
    $result = $null
    if ($lines.Count -gt 0 -and $lines[-1].StartsWith('{')) { $result = $lines[-1] | ConvertFrom-Json }
    $found = [regex]::Matches($text, '(?m)\] (?:drifted|failed) (\S+) \(')
    $names = @($found | ForEach-Object { $_.Groups[1].Value })
    @{ code = $code; text = $text; result = $result; differing = @($names | Sort-Object) }
}

function Invoke-Registry {
    param([string[]] $Arguments)
    $null = & "$env:SystemRoot\System32\reg.exe" @Arguments
    if ($LASTEXITCODE -ne 0) { throw "reg.exe $Arguments exited with $LASTEXITCODE" }
}

# Asks again for some seconds, because Windows goes on after it has answered.
function Wait-Until {
    param([scriptblock] $Block, [int] $Seconds = 20)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while (-not (& $Block)) {
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) { return $false }
        Start-Sleep -Milliseconds 200
    }
    $true
}

# What this run has shown, by law. A law of a suite that did not come to it is there as well.
function Write-LawReport {
    param([string] $Path, [object[]] $Known, [string] $Session)
    # Not every machine that runs this says which Windows it is.
    $system = @{ build = 0; revision = 0 }
    try { $system = Get-OsBuild } catch { [Console]::Out.WriteLine("build: $_") }
    $rows = foreach ($law in $Known) {
        if ($law.runner.StartsWith('none: ')) { continue }
        $row = [ordered]@{ law = $law.id; suite = $law.runner; result = 'not reached'; detail = '' }
        if ($script:Laws.ContainsKey($law.id)) {
            $row.result = $script:Laws[$law.id].result
            $row.detail = $script:Laws[$law.id].detail
        }
        $row
    }
    $report = [ordered]@{ schema = 'imagegen.dev/laws/v1'; build = $system.build; revision = $system.revision }
    $report.powershell = "$($PSVersionTable.PSVersion)"
    $report.session = $Session
    $report.laws = @($rows)
    $report.failures = @($script:Failures)
    Write-Text -Path $Path -Text (ConvertTo-Json -InputObject $report -Depth 5)
}

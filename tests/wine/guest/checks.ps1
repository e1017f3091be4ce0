# What every suite of Wine uses: checks, payloads, plans, the engine. Loaded by run.ps1.

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    if ($Holds) { $script:Passed++; return }
    $script:Failures += "${script:Part}: ${Name}: $Detail"
}

function Write-Text {
    param([string] $Path, [string] $Text)
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    [IO.File]::WriteAllText($Path, $Text)
}

function Get-TextDigest {
    param([string] $Path)
    (Get-FileHash -LiteralPath $Path -Algorithm SHA256 -ErrorAction Stop).Hash.ToLowerInvariant()
}

# Types of resources that Wine serves with the abilities of Windows. A service comes from CIM, a script wants
# rights.
$script:Served = 'artifact', 'archive', 'assertion', 'directory', 'environmentVariable', 'file', 'pageFile',
    'pathEntry', 'registryValue'

# The payload of a workspace in a folder, with what Wine serves of its plan. Bytes of publishers are others here:
# each artifact gets a file of its own, under the digest of that.
function Copy-Payload {
    param([string] $From, [string] $To)
    if ([IO.File]::Exists("$From\payload.zip")) {
        [IO.Compression.ZipFile]::ExtractToDirectory("$From\payload.zip", $To)
    } else {
        foreach ($name in 'engine', 'node', 'resources', 'Install.ps1') {
            Copy-Item -LiteralPath "$From\$name" -Destination "$To\$name" -Recurse
        }
    }
    $null = [IO.Directory]::CreateDirectory("$To\artifacts")
    $plan = [IO.File]::ReadAllText("$From\guest-plan.json") | ConvertFrom-Json
    $plan.resources = @(foreach ($resource in $plan.resources) {
            $properties = $resource.properties
            # tar.exe is no program of Wine, and what a check starts was never installed.
            $isServed = $resource.type -cin $script:Served -and
                ($resource.type -ne 'archive' -or $properties.format -eq 'zip') -and
                ($resource.type -ne 'assertion' -or $properties.check -eq 'osBuild')
            if (-not $isServed) { continue }
            if ($resource.type -in 'artifact', 'archive') {
                $path = "$To\artifacts\new"
                if ($resource.type -eq 'archive') { Write-Zip -Path $path -Members $properties.members }
                else { Write-Text -Path $path -Text "bytes of $($resource.name)" }
                $properties.algorithm = 'sha256'
                $properties.digest = Get-TextDigest -Path $path
                [IO.File]::Move($path, "$To\artifacts\$($properties.digest)", $true)
            }
            $resource
        })
    Write-Text -Path "$To\guest-plan.json" -Text (ConvertTo-Json -InputObject $plan -Depth 20)
    $plan
}

function Write-Zip {
    param([string] $Path, [object[]] $Members)
    $zip = [IO.Compression.ZipFile]::Open($Path, 'Create')
    try {
        foreach ($one in $Members) {
            $writer = New-Object -TypeName IO.StreamWriter -ArgumentList ($zip.CreateEntry($one.member).Open())
            $writer.Write("bytes of $($one.member)")
            $writer.Dispose()
        }
    } finally {
        $zip.Dispose()
    }
}

# Windows as the plan wants it, and as its own set-up leaves it.
function Initialize-Machine {
    param($Plan)
    $build = @($Plan.resources | Where-Object { $_.type -eq 'assertion' })[0].properties.build
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
    Set-ItemProperty -LiteralPath $key -Name 'CurrentBuildNumber' -Value "$build"
    $null = New-ItemProperty -LiteralPath $key -Name 'UBR' -PropertyType DWord -Value 1 -Force
}

# One phase: exit code, what differs or failed, and its last line.
function Invoke-Engine {
    param([string] $Phase, [string] $Mode = 'apply')
    $lines = @(& 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase $Phase -Mode $Mode -Platform $script:Platform 6>&1 |
            ForEach-Object { "$_" })
    $found = [regex]::Matches($lines -join "`n", '(?m)\] (?:drifted|failed) (.+?) \(')
    $result = @{ code = $LASTEXITCODE; lines = $lines; differing = @($found |
        ForEach-Object { $_.Groups[1].Value }) }
    $told = @($lines | Where-Object { $_ -match '\] (drifted|failed) |"error":"|: refused' })
    $result.told = ($told | Select-Object -First 8) -join '; '
    $result.changed = @($lines | Where-Object { $_ -match '\] changed ' }).Count
    $result
}

# A program of PowerShell in a process of its own.
function Start-Shell {
    param([string] $File, [string[]] $Words)
    $line = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $File) + $Words
    $start = New-Object -TypeName Diagnostics.ProcessStartInfo -ArgumentList "$PSHOME\pwsh.exe"
    foreach ($word in $line) { $start.ArgumentList.Add($word) }
    $start.UseShellExecute = $false
    [Diagnostics.Process]::Start($start)
}

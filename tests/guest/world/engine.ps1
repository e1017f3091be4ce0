# Runs of the engine on a simulated machine, and what they leave there. Loaded by load.ps1.

# One run of the entry point: its exit code, its last line as an object, all of its text.
function Invoke-Engine {
    param([string] $World, [string] $Phase, [string] $Mode = 'apply', [switch] $ReportOnly)
    $arguments = @{ Phase = $Phase; Mode = $Mode; ReportOnly = $ReportOnly }
    $arguments.Platform = $script:PlatformFile
    $lines = @(& "$World/C/imagegen/engine/Invoke-Plan.ps1" @arguments 6>&1)
    $code = $LASTEXITCODE
    $result = $null
    if ($lines.Count -gt 0 -and "$($lines[-1])".StartsWith('{')) { $result = "$($lines[-1])" | ConvertFrom-Json }
    @{ code = $code; result = $result; text = ($lines -join "`n") }
}

function Read-Report {
    param([string] $World)
    [IO.File]::ReadAllText("$World/C/imagegen/check-report.json") | ConvertFrom-Json
}

function Get-Partial {
    param([string] $World)
    Get-ChildItem -LiteralPath "$World/C" -Recurse -Force -Filter '*.partial'
}

# The file behind a path of the plan.
function Get-WorldFile {
    param([string] $World, [string] $Path)
    "$World/C/" + $Path.Substring(3).Replace('\', '/')
}

# A block runs long after the function that made it has ended, so what blocks need are functions.
function Clear-Entry {
    param([string] $Area, [string] $Name)
    Set-Simulation -Area $Area -Name $Name -Value $null
}

# What resources remember of their work.
function Clear-Record {
    param([string] $World)
    $records = Get-ChildItem -LiteralPath "$World/C/imagegen/state" -Filter '*.json'
    $records | Where-Object { $_.BaseName.Length -eq 32 } | Remove-Item -Force
}

function Add-WorldText {
    param([string] $World, [string] $Path)
    [IO.File]::AppendAllText((Get-WorldFile -World $World -Path $Path), 'x')
}

function Remove-WorldFile {
    param([string] $World, [string] $Path)
    [IO.File]::Delete((Get-WorldFile -World $World -Path $Path))
}

# A folder in the place of a file.
function Set-WorldFolder {
    param([string] $World, [string] $Path)
    Remove-WorldFile -World $World -Path $Path
    $null = [IO.Directory]::CreateDirectory((Get-WorldFile -World $World -Path $Path))
}

# A service of a simulated machine that is there for one case.
function New-LawService {
    param([string] $Name, [hashtable] $Change = @{})
    New-ServiceEntry -Name $Name -CommandLine "C:\$Name.exe"
    if ($Change.Count -gt 0) { Set-ServiceConfig -Name $Name -Change $Change }
}

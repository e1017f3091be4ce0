# Scripts of steps, run as a plan has them, with functions in the place of commands of Windows. Loaded by load.ps1.

# Functions that stood before the commands of Windows already, such as those of the played clock.
$script:Covered = @{}

# Functions that stand before the commands of Windows.
function Add-Played {
    param([hashtable] $Functions)
    foreach ($name in $Functions.Keys) {
        $found = Get-Item -LiteralPath "function:$name" -ErrorAction Ignore
        if ($null -ne $found) { $script:Covered[$name] = $found.ScriptBlock }
        $null = New-Item -Path "function:global:$name" -Value $Functions[$name] -Force
    }
}

function Remove-Played {
    param([hashtable] $Functions)
    foreach ($name in $Functions.Keys) {
        Remove-Item -LiteralPath "function:$name"
        if (-not $script:Covered.ContainsKey($name)) { continue }
        $null = New-Item -Path "function:global:$name" -Value $script:Covered[$name] -Force
        $script:Covered.Remove($name)
    }
}

# Runs a block while they do.
function Use-Played {
    param([hashtable] $Functions, [scriptblock] $Block)
    Add-Played -Functions $Functions
    try {
        & $Block
    } finally {
        Remove-Played -Functions $Functions
    }
}

# The text of a step's script, `test` or `set`.
function Get-StepScript {
    param([string] $Step, [string] $Name, [string] $Part)
    $content = [IO.File]::ReadAllText("$Provisioners/steps/$Step.json") | ConvertFrom-Json
    $found = @($content.resources | Where-Object { $_.name -eq $Name })
    if ($found.Count -ne 1) { throw "the step $Step has $($found.Count) resources named $Name" }
    $folder = [IO.Path]::GetTempPath()
    "$($found[0].properties.$Part)".Replace('{{ paths.state | literal }}', "'$folder'")
}

# Runs it. A program that no function can stand for is replaced in the text.
function Invoke-StepScript {
    param([string] $Step, [string] $Name, [string] $Part, [string] $Call = '', [string] $Instead = '')
    $text = Get-StepScript -Step $Step -Name $Name -Part $Part
    if ($Call) {
        if (-not $text.Contains($Call)) { throw "$Step/$Name does not call $Call" }
        $text = $text.Replace($Call, $Instead)
    }
    "$(& ([scriptblock]::Create($text)))"
}

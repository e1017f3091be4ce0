# PowerShell that stands in files of another kind: steps, targets, the build, Markdown, YAML.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

$script:Top = [IO.Path]::GetFullPath("$PSScriptRoot/../..")

# Files below the folders that hold PowerShell as text.
function Get-TextFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string[]] $Extension)
    $folders = 'packer', 'provisioners', 'manifests', 'ci/publish/pipelines' |
        ForEach-Object -Process { "$script:Top/$_" }
    Get-ChildItem -LiteralPath $folders -Recurse -File |
        Where-Object -FilterScript { $_.Extension -in $Extension } |
        ForEach-Object -Process {
            $name = $_.FullName.Substring($script:Top.TrimEnd('/', '\').Length + 1).Replace('\', '/')
            @{ name = $name; text = [IO.File]::ReadAllText($_.FullName) }
        }
}

# Texts between a line that ends in one mark and the next line that is another one but for blanks.
function Select-Piece {
    [CmdletBinding()]
    param([string] $Text, [string] $Open, [string] $Close)
    $form = "(?m)$([regex]::Escape($Open))\r?\n((?s:.*?))^[ \t]*$([regex]::Escape($Close))\r?$"
    foreach ($found in [regex]::Matches($Text, $form)) { $found.Groups[1].Value }
}

# Lines of YAML below a key of PowerShell, without their indent.
function Select-YamlBlock {
    [CmdletBinding()]
    param([string] $Text)
    $lines = $Text -split '\r?\n'
    $indent = { param($Line) $Line.Length - $Line.TrimStart().Length }
    for ($at = 0; $at -lt $lines.Count; $at++) {
        if (-not $lines[$at].EndsWith('|')) { continue }
        $block = for ($next = $at + 1; $next -lt $lines.Count; $next++) {
            if ($lines[$next] -and (& $indent $lines[$next]) -le (& $indent $lines[$at])) { break }
            $lines[$next].TrimStart()
        }
        $before = @($lines[[Math]::Max(0, $at - 12)..[Math]::Max(0, $at - 1)])
        $shells = @($before | Select-Object -Last 3 |
            Where-Object -FilterScript { $_.Trim() -match '^shell: (pwsh|powershell)$' })
        $named = $lines[$at] -match '^[ -]*pwsh:' -or $shells.Count -or $lines[$at].Contains('.ps1:')
        $called = @($before | Where-Object -FilterScript { $_.Contains('powershell') }).Count -and
            $lines[$at] -notmatch 'run:|script:'
        if ($named -or $called) { ($block -join "`n") + "`n" }
    }
}

# Lists of lines in JSON that are a script of a machine: the first line says so.
function Select-JsonScript {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowNull()] $Value)
    if ($Value -is [array]) {
        if ($Value.Count -and "$($Value[0])" -ceq '#ps1_sysnative') { return ($Value -join "`n") + "`n" }
        foreach ($item in $Value) { if ($null -ne $item) { Select-JsonScript -Value $item } }
    } elseif ($Value -is [pscustomobject]) {
        foreach ($field in $Value.PSObject.Properties) {
            if ($null -ne $field.Value) { Select-JsonScript -Value $field.Value }
        }
    }
}

# Name and text of each text of scripts in a file of JSON.
function Select-JsonText {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $File)
    $json = $File.text | ConvertFrom-Json
    foreach ($text in Select-JsonScript -Value $json) { @{ name = $File.name; text = $text } }
    if ($File.name -notlike 'provisioners/steps/*') { return }
    foreach ($resource in $json.resources | Where-Object -FilterScript { $_.type -eq 'script' }) {
        foreach ($property in 'test', 'set') {
            @{ name = "$($File.name)#$($resource.name).$property"; text = "$($resource.properties.$property)`n" }
        }
    }
}

# Every text as a script. Those of steps hold values of a plan.
function Read-Text {
    $readme = @{ name = 'README.md'; text = [IO.File]::ReadAllText("$script:Top/README.md") }
    $texts = @(
        foreach ($file in Get-TextFile -Extension '.hcl') {
            Select-Piece -Text $file.text -Open '<<-SCRIPT' -Close 'SCRIPT' |
                ForEach-Object -Process { @{ name = $file.name; text = $_ } }
        }
        foreach ($file in @(Get-TextFile -Extension '.md') + $readme) {
            Select-Piece -Text $file.text -Open '```powershell' -Close '```' |
                ForEach-Object -Process { @{ name = $file.name; text = $_ } }
        }
        foreach ($file in Get-TextFile -Extension '.yml', '.yaml') {
            Select-YamlBlock -Text $file.text | ForEach-Object -Process { @{ name = $file.name; text = $_ } }
        }
        foreach ($file in Get-TextFile -Extension '.json') {
            if ($file.name -match '^(provisioners/steps|packer/targets)/') { Select-JsonText -File $file }
        }
    )
    foreach ($one in $texts) { New-Script -Name $one.name -Text $one.text }
}

Export-ModuleMember -Function 'Read-Text'

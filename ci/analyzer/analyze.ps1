<#
.SYNOPSIS
Judges every PowerShell of the repository by PSScriptAnalyzer and by rules of its own.
.DESCRIPTION
PSScriptAnalyzer holds scripts and texts against Windows PowerShell 5.1 on Server 2019, as
PSScriptAnalyzerSettings.psd1 says; the rules in this folder know what it cannot say. Each finding is a line; the
exit code is their number, at most 100.
.EXAMPLE
pwsh -NoProfile -File ci/analyzer/analyze.ps1
#>
[CmdletBinding()]
param()
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$top = [IO.Path]::GetFullPath("$PSScriptRoot/../..")
Import-Module -Name PSScriptAnalyzer
Import-Module -Name "$PSScriptRoot/Trees.psm1"
Import-Module -Name "$PSScriptRoot/Texts.psm1"
$analyzer = Get-Module -Name PSScriptAnalyzer
"PSScriptAnalyzer $($analyzer.Version) in PowerShell $($PSVersionTable.PSVersion)"

$folders = 'provisioners', 'tests/guest', 'manifests/cluster', 'packer'
$trees = @{}
foreach ($folder in $folders) { $trees[$folder] = @(Read-Script -Folder $folder) }
$texts = @(Read-Text)

# The analyzer judges files: texts are written where their names can be told.
$folder = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-texts-$PID"
$null = New-Item -Path $folder -ItemType Directory
try {
    for ($at = 0; $at -lt $texts.Count; $at++) {
        [IO.File]::WriteAllText("$folder/$at.ps1", $texts[$at].text)
    }
    $settings = "$top/PSScriptAnalyzerSettings.psd1"
    $found = @(
        foreach ($part in 'provisioners', 'manifests/cluster', 'packer', 'tests/guest/real',
            'tests/guest/real.ps1') {
            Invoke-ScriptAnalyzer -Path "$top/$part" -Recurse -Settings $settings
        }
        # Simulation, cases and these rules run in PowerShell 7 alone, and Pester is another one than that of 5.1.
        $compatible = 'PSUseCompatibleCommands', 'PSUseCompatibleTypes', 'PSUseCompatibleSyntax',
            'PSAvoidOverwritingBuiltInCmdlets'
        Invoke-ScriptAnalyzer -Path "$top/tests/guest" -Recurse -Settings $settings -ExcludeRule $compatible |
            Where-Object -FilterScript { $_.ScriptPath -notmatch '[/\\]real(\.ps1$|[/\\])' } |
            # Blocks of Pester share variables, which no rule of the analyzer knows.
            Where-Object -FilterScript { $_.RuleName -ne 'PSUseDeclaredVarsMoreThanAssignments' -or
                $_.ScriptPath -notmatch '\.Tests\.ps1$' }
        # A text is a piece of a script: its lines are the width of their file, and two steps set what they do not read.
        $ofFiles = 'PSAvoidLongLines', 'PSUseDeclaredVarsMoreThanAssignments'
        Invoke-ScriptAnalyzer -Path $folder -Recurse -Settings $settings -ExcludeRule $ofFiles
    )
    $findings = @(
        foreach ($one in $found) {
            $name = $one.ScriptPath.Replace($top, '').Replace('\', '/').TrimStart('/')
            if ([IO.Path]::GetDirectoryName($one.ScriptPath) -eq [IO.Path]::GetFullPath($folder)) {
                $name = $texts[[int][IO.Path]::GetFileNameWithoutExtension($one.ScriptPath)].name
            }
            "${name}:$($one.Line): $($one.RuleName): $($one.Message)"
        }
        & "$PSScriptRoot/Find-All.ps1" -Tree $trees -Text $texts
    )
} finally {
    Remove-Item -LiteralPath $folder -Recurse
}
$findings
$count = @($trees.Values | ForEach-Object -Process { $_ }).Count
"$count scripts and $($texts.Count) texts, $($findings.Count) findings"
exit [Math]::Min($findings.Count, 100)

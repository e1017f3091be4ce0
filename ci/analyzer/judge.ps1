<#
.SYNOPSIS
Judges texts of PowerShell that the program makes, by the rules of this folder that know Windows PowerShell 5.1.
.DESCRIPTION
Each finding is a line; the exit code is their number, at most 100. Tests call it with what a command printed.
.PARAMETER File
Files of PowerShell.
.EXAMPLE
pwsh -NoProfile -File ci/analyzer/judge.ps1 user-data.ps1
#>
[CmdletBinding()]
param([Parameter(Mandatory, ValueFromRemainingArguments)] [string[]] $File)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
foreach ($name in 'Trees', 'Traps', 'Calls', 'Laws') { Import-Module -Name "$PSScriptRoot/$name.psm1" }

$findings = @(foreach ($path in $File) {
    $script = New-Script -Name ([IO.Path]::GetFileName($path)) -Text ([IO.File]::ReadAllText($path))
    $known = Get-Known -Script $script
    Find-Syntax -Script $script
    Find-Drive -Script $script
    Find-Member -Script $script
    Find-Preference -Script $script -Known $known
    Find-Call -Script $script -Known $known |
        Where-Object -FilterScript { $_ -match 'no command of 5\.1|no parameter' }
})
$findings
exit [Math]::Min($findings.Count, 100)

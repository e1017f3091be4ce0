<#
.SYNOPSIS
Runs files of cases, one after the other, until the queue of run.ps1 is empty.

.PARAMETER Work
The folder of the run.

.EXAMPLE
pwsh -NoProfile -File tests/guest/world/worker.ps1 -Work /tmp/imagegen-1
#>
[CmdletBinding()]
param([Parameter(Mandatory)] [string] $Work)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
. "$PSScriptRoot/clock.ps1"
Import-Module -Name 'Pester' -MinimumVersion '5.0'
Add-Type -AssemblyName 'System.IO.Compression.FileSystem'

# The next file of the queue is that of the process which moves it.
function Get-NextItem {
    foreach ($file in [IO.Directory]::GetFiles("$Work/queue", '*.json') | Sort-Object) {
        try {
            [IO.File]::Move($file, "$file.taken")
        } catch [IO.IOException] {
            continue
        }
        return [IO.File]::ReadAllText("$file.taken") | ConvertFrom-Json
    }
}

function Invoke-Item {
    param($Item)
    $given = New-PesterConfiguration
    $data = @{}
    if ($Item.plan) { $data.Source = $Item.plan }
    $names = @($Item.names)
    # Pester knows tests of a list by the text before its rows are filled in.
    $rows = @($names | Where-Object { $_ -like 'Matrix.*' } | ForEach-Object { $_.Substring(7) })
    if ($rows.Count -gt 0 -and $Item.path.EndsWith('matrix.Tests.ps1')) {
        $data.Row = $rows
        $names = @('Matrix')
    }
    $given.Run.Container = New-PesterContainer -Path $Item.path -Data $data
    $given.Output.Verbosity = 'None'
    # All that a test checks is told, not the first that fails alone.
    $given.Should.ErrorAction = 'Continue'
    $given.TestResult.Enabled = $true
    $given.TestResult.OutputFormat = 'JUnitXml'
    $given.TestResult.OutputPath = $Item.report
    $env:IMAGEGEN_PROVISIONERS = $Item.provisioners
    if ($names.Count -gt 0) { $given.Filter.FullName = @($names | ForEach-Object { $_; "$_.*" }) }
    if (@($Item.tags).Count -gt 0) { $given.Filter.Tag = @($Item.tags) }
    $given.Run.PassThru = $true
    $result = Invoke-Pester -Configuration $given
    # Of a file that ends before its last test is known, the report tells nothing.
    foreach ($container in $result.FailedContainers) {
        if ([IO.File]::Exists($Item.report)) { [IO.File]::Delete($Item.report) }
        [Console]::Error.WriteLine("$($Item.path): $($container.ErrorRecord)")
    }
}

$world = $env:IMAGEGEN_SIMULATION
foreach ($folder in 'mirror', 'C') { $null = [IO.Directory]::CreateDirectory("$world/$folder") }
# Once, and not after a question for the drive: outside Windows that question mounts the folder ./C by itself.
$null = New-PSDrive -Name 'C' -PSProvider FileSystem -Root "$world/C" -Scope Global
[IO.Directory]::SetCurrentDirectory($world)
while ($null -ne ($item = Get-NextItem)) { Invoke-Item -Item $item }

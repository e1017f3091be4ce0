# What files of cases share: the engine's tools, the simulation, machines and checks. Their BeforeAll loads it.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if (-not $env:IMAGEGEN_SIMULATION) { throw 'cases are run by tests/guest/run.ps1, which makes them a machine' }
$Provisioners = $env:IMAGEGEN_PROVISIONERS
# The simulation, which stands in for engine/Windows.ps1.
$script:PlatformFile = [IO.Path]::GetFullPath("$PSScriptRoot/../Simulated.ps1")
. "$Provisioners/engine/Tools.ps1"
. $script:PlatformFile
. "$PSScriptRoot/../script-paths.ps1"
foreach ($name in 'checks', 'mirror', 'machine', 'engine', 'node', 'steps') {
    . "$PSScriptRoot/$name.ps1"
}
# They would stand before variables of the same names that tests share.
Remove-Variable -Name 'name', 'file' -ErrorAction Ignore

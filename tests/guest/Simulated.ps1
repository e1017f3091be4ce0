# Stands in for engine/Windows.ps1 under PowerShell 7 on any system: the same functions with the same parameters,
# in files of the same names. The machine is $env:IMAGEGEN_SIMULATION: state.json (areas of named values), mirror/
# (what URLs give) and the folder C, mounted as a drive by run.ps1. Functions named *-Simulation are its own.
foreach ($file in Get-ChildItem -Path "$PSScriptRoot/simulated/*.ps1") { . $file.FullName }

# Stands in for engine/Windows.ps1 under PowerShell 7 on any system: the same functions with the same parameters,
# in files of the same names. The machine is areas of named values in memory, and of $env:IMAGEGEN_SIMULATION the
# folders mirror (what URLs give) and C, mounted as a drive by run.ps1. Functions named *-Simulation are its own.
foreach ($file in Get-ChildItem -LiteralPath "$PSScriptRoot/simulated" -Filter '*.ps1') { . $file.FullName }

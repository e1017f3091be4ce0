# Loads the abilities of Windows, a file for each subject. They alone name what exists on Windows alone: cmdlets,
# classes, registry and other drives, programs. One small function per ability, no decisions; each has its twin in
# tests/guest/simulated, in the file of the same name.

# Whole paths: a program of the same name in the current folder would be found first.
$script:System32 = "$env:SystemRoot\System32"
foreach ($file in Get-ChildItem -LiteralPath "$PSScriptRoot/windows" -Filter '*.ps1') { . $file.FullName }

# Checks that several cases make. Loaded by load.ps1.

# A run of the engine, of a node's script or of the installer: its exit code, and what it says.
function Assert-Run {
    param([Parameter(Mandatory)] $Run, [Parameter(Mandatory)] [int] $Code, [string] $Text = '')
    $Run.code | Should -Be $Code -Because $Run.text
    if ($Text) { $Run.text.Contains($Text) | Should -BeTrue -Because "'$Text' is in $($Run.text)" }
}

# The engine ends with 2, and the machine is as it was.
function Assert-Refusal {
    param([Parameter(Mandatory)] [string] $World)
    $before = Save-Simulation
    Assert-Run -Run (Invoke-Engine -World $World -Phase 'bootstrap') -Code 2
    Save-Simulation | Should -BeExactly $before
}

# What a block throws, nothing where it does not.
function Get-Refusal {
    param([scriptblock] $Block)
    try { $null = & $Block } catch { return "$($_.Exception.Message)" }
    ''
}

# Each resource type, missing, changed, of another kind, and with an ability that fails. Loaded by run.ps1.

# How to break resources of the plan: `breaks` by name, each a block that takes the world; a `text` is why the
# engine does not repair one of another kind. Each type is absent, drifts, is of another kind, and has an ability
# that fails; `none` says why something cannot be.
function Get-Break {
    Get-FileBreak
    Get-SystemBreak
}

function Assert-Drifted {
    param([string] $World, $Case, [string] $Kind)
    $run = Invoke-Engine -World $World -Phase $Case.phase -Mode 'test'
    $holds = $run.code -eq 8 -and $run.text.Contains("] drifted $($Case.name) (")
    Assert-That -Name "$($Case.name), ${Kind}: the drift is found" -Holds $holds -Detail $run.text
}

# One way to break one resource: it is found and repaired, or the engine says why it leaves it alone.
function Test-Break {
    param([string] $World, $Case, [string] $Kind)
    $block = $Case.breaks[$Kind]
    $null = & $block $World
    Assert-Drifted -World $World -Case $Case -Kind $Kind
    $run = Invoke-Engine -World $World -Phase $Case.phase
    if ($Kind -eq 'kind' -and $Case.ContainsKey('text')) {
        Assert-Run -Name "$($Case.name), ${Kind}: the reason is said" -Run $run -Code 1 -Text $Case.text
    } else {
        Assert-Run -Name "$($Case.name), ${Kind}: it is repaired" -Run $run -Code 0
        Restart-World -World $World
        $run = Invoke-Engine -World $World -Phase $Case.phase -Mode 'test'
        Assert-Run -Name "$($Case.name), ${Kind}: it stays repaired" -Run $run -Code 0
    }
}

# The first way to break it, while the ability that repairs it fails: its reason is the message.
function Test-FailingAbility {
    param([string] $World, $Case)
    $kind = @($Case.breaks.Keys | Where-Object { $_ -ne 'kind' } | Sort-Object)[0]
    $block = $Case.breaks[$kind]
    $null = & $block $World
    Set-Simulation -Area 'fails' -Name $Case.ability -Value 'yes'
    $run = Invoke-Engine -World $World -Phase $Case.phase
    Set-Simulation -Area 'fails' -Name $Case.ability -Value $null
    $text = "simulated failure of $($Case.ability)"
    Assert-Run -Name "$($Case.name): the reason of a failure is said" -Run $run -Code 1 -Text $text
    $run = Invoke-Engine -World $World -Phase $Case.phase
    Assert-Run -Name "$($Case.name): the next run repairs it" -Run $run -Code 0
    Restart-World -World $World
}

# One resource, missing and changed, on a machine that others share.
function Test-Repair {
    param([string] $World, $Case)
    if ($Case.ContainsKey('ability')) { Test-FailingAbility -World $World -Case $Case }
    foreach ($kind in 'absent', 'drift') {
        if ($Case.breaks.ContainsKey($kind)) { Test-Break -World $World -Case $Case -Kind $kind }
    }
}

function Test-Matrix {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    foreach ($case in @(Get-Break)) {
        Invoke-Case -Name $case.name -Block { Test-Repair -World $world -Case $case }
    }
    # Most of these are left alone by the engine, so each has a machine of its own.
    foreach ($case in @(Get-Break | Where-Object { $_.breaks.ContainsKey('kind') })) {
        Invoke-Case -Name "$($case.name), kind" -Block {
            Test-Break -World (New-InstalledWorld -Source $Source) -Case $case -Kind 'kind'
        }
    }
}

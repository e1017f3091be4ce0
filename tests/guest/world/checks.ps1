# Checks of run.ps1, and what they tell. Loaded by run.ps1.

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    # Not through the output: the functions that check also return things.
    if ($Holds) {
        $script:Passed++
        [Console]::Out.WriteLine("ok: $Name")
    } else {
        $script:Failed++
        [Console]::Out.WriteLine("FAILED: $Name")
        [Console]::Out.WriteLine("    $Detail")
    }
}

# Checks that stand by themselves: what one of them throws is its own failure.
function Invoke-Case {
    param([string] $Name, [scriptblock] $Block)
    [Console]::Out.WriteLine("case: $Name")
    try {
        $null = & $Block
    } catch {
        Assert-That -Name "$Name comes to its end" -Holds $false -Detail "$_`n$($_.ScriptStackTrace)"
    }
}

function Assert-Run {
    param([string] $Name, $Run, [int] $Code, [string] $Text = '')
    $holds = $Run.code -eq $Code -and ($Text -eq '' -or $Run.text.Contains($Text))
    Assert-That -Name $Name -Holds $holds -Detail "exit $($Run.code), wanted $Code and '$Text': $($Run.text)"
}

function Assert-Throw {
    param([string] $Name, [scriptblock] $Block)
    $thrown = $false
    try { $null = & $Block } catch { $thrown = $true }
    Assert-That -Name $Name -Holds $thrown
}

function Assert-Refusal {
    param([string] $Name, [string] $World)
    $before = Save-Simulation
    Assert-Run -Name "$Name is refused" -Run (Invoke-Engine -World $World -Phase 'bootstrap') -Code 2
    $same = $before -ceq (Save-Simulation)
    Assert-That -Name "$Name changes nothing" -Holds $same
}

# Each resource type, missing, changed, of another kind, and with an ability that fails: `breaks` by name, each a
# block that takes the world; a `text` is why the engine does not repair one of another kind. `none` says why
# something cannot be.
param([string[]] $Row = @('*'))

BeforeDiscovery {
    . "$PSScriptRoot/file-breaks.ps1"
    . "$PSScriptRoot/system-breaks.ps1"
    $all = @(foreach ($one in @(Get-FileBreak; Get-SystemBreak)) {
        if (@($Row | Where-Object { $one.name -like $_ }).Count -gt 0) { $one }
    })
    $failing = @($all | Where-Object { $_.ContainsKey('ability') } | ForEach-Object {
        $first = @($_.breaks.Keys | Where-Object { $_ -ne 'kind' } | Sort-Object)[0]
        @{ name = $_.name; phase = $_.phase; ability = $_.ability; block = $_.breaks[$first] }
    })
    # Pester wants no empty list.
    $repaired = @()
    $left = @()
    foreach ($case in $all) {
        foreach ($kind in 'absent', 'drift', 'kind') {
            if (-not $case.breaks.ContainsKey($kind)) { continue }
            $way = @{ name = $case.name; phase = $case.phase; kind = $kind; block = $case.breaks[$kind] }
            if ($kind -eq 'kind' -and $case.ContainsKey('text')) {
                $left += $way + @{ text = $case.text }
            } else {
                $repaired += $way
            }
        }
    }
}

BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # The blocks that break something were made before this file's functions.
    function Invoke-Break {
        param([string] $World, [scriptblock] $Block)
        $null = & ([scriptblock]::Create("$Block")) $World
    }

    function Assert-Drifted {
        param([string] $World, [string] $Name, [string] $Phase)
        $run = Invoke-Engine -World $World -Phase $Phase -Mode 'test'
        Assert-Run -Run $run -Code 8 -Text "] drifted $Name ("
    }
}

Describe 'Matrix' -Tag 'matrix' {
    # While the ability that repairs it fails, its reason is the message.
    if ($failing.Count -gt 0) {
        Context '<name>, while <ability> fails' -ForEach $failing {
            BeforeAll {
                $world = New-InstalledWorld
                Invoke-Break -World $world -Block $block
                Set-Simulation -Area 'fails' -Name $ability -Value 'yes'
            }

            It '<name>: the reason of a failure is said' {
                $run = Invoke-Engine -World $world -Phase $phase
                Assert-Run -Run $run -Code 1 -Text "simulated failure of $ability"
            }

            It '<name>: the next run repairs it' {
                Set-Simulation -Area 'fails' -Name $ability -Value $null
                Assert-Run -Run (Invoke-Engine -World $world -Phase $phase) -Code 0
            }
        }
    }

    if ($repaired.Count -gt 0) {
        Context '<name>, <kind>' -ForEach $repaired {
            BeforeAll {
                $world = New-InstalledWorld
                Invoke-Break -World $world -Block $block
            }

            It '<name>, <kind>: the drift is found' {
                Assert-Drifted -World $world -Name $name -Phase $phase
            }

            It '<name>, <kind>: it is repaired' {
                Assert-Run -Run (Invoke-Engine -World $world -Phase $phase) -Code 0
            }

            It '<name>, <kind>: it stays repaired' {
                Restart-World -World $world
                Assert-Run -Run (Invoke-Engine -World $world -Phase $phase -Mode 'test') -Code 0
            }
        }
    }

    if ($left.Count -gt 0) {
        Context '<name>, <kind>' -ForEach $left {
            BeforeAll {
                $world = New-InstalledWorld
                Invoke-Break -World $world -Block $block
            }

            It '<name>, <kind>: the drift is found' {
                Assert-Drifted -World $world -Name $name -Phase $phase
            }

            It '<name>, <kind>: the reason is said' {
                Assert-Run -Run (Invoke-Engine -World $world -Phase $phase) -Code 1 -Text $text
            }
        }
    }
}

# A plan from its first phase to the start of a clone: plan.json, or the rendered plan that run.ps1 gives.
param([string] $Source = "$PSScriptRoot/../plan.json")

BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # A rendered plan's scripts may be signed, which no system but Windows can tell.
    function New-LifeWorld {
        param([string] $Source)
        New-World -Source $Source -Edit {
            param($content)
            $properties = $content.PSObject.Properties
            if ($null -ne $properties['signers']) { $properties.Remove('signers') }
        }
    }
}

Describe 'WholeLife' -Tag 'life' {
    BeforeAll {
        $world = New-LifeWorld -Source $Source
    }

    Context '<phase>' -ForEach @(@{ phase = 'bootstrap' }, @{ phase = 'prepare' }, @{ phase = 'install' }) {
        BeforeAll {
            $script:run = Invoke-Engine -World $world -Phase $phase
        }

        It '<phase> is applied' {
            Assert-Run -Run $run -Code 0
        }

        It '<phase> is applied again' {
            Restart-World -World $world
            $script:run = Invoke-Engine -World $world -Phase $phase
            Assert-Run -Run $run -Code 0
        }

        It '<phase> changes nothing again' {
            $run.result.changed | Should -Be 0 -Because $run.text
        }
    }

    It 'nothing partial is left' {
        @(Get-Partial -World $world).Count | Should -Be 0
    }

    It 'no seal without report' {
        $script:run = Invoke-Engine -World $world -Phase 'seal'
        Assert-Run -Run $run -Code 8
    }

    It 'test passes' {
        $script:run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
        Assert-Run -Run $run -Code 0
    }

    It 'the report is good and whole' {
        $report = Read-Report -World $world
        $good = $report.passed -and $report.failed -eq 0 -and $report.checked -eq @($report.resources).Count
        $good | Should -BeTrue -Because $report
        $report.checked | Should -BeGreaterThan 0 -Because $report
    }

    It 'seal is applied' {
        $script:run = Invoke-Engine -World $world -Phase 'seal'
        Assert-Run -Run $run -Code 0
    }

    It 'a clone starts' {
        Restart-World -World $world
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    }

    It 'a clone starts again' {
        $script:run = Invoke-Engine -World $world -Phase 'firstboot'
        Assert-Run -Run $run -Code 0
    }

    It 'its second start changes nothing' {
        $run.result.changed | Should -Be 0 -Because $run.text
    }

    It 'a clone is as planned' {
        $script:run = Invoke-Engine -World $world -Phase 'node' -Mode 'test'
        Assert-Run -Run $run -Code 0
    }

    It 'every journal line is an entry' {
        $journal = [IO.File]::ReadAllLines("$world/C/imagegen/journal.jsonl")
        $bad = @($journal | Where-Object { $null -eq ($_ | ConvertFrom-Json).name })
        $journal.Count | Should -BeGreaterThan 0
        $bad.Count | Should -Be 0
    }
}

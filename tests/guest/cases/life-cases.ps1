# A plan from its first phase to the start of a clone, and what drifts. Loaded by run.ps1.

function Test-WholeLife {
    param([string] $Source, [scriptblock] $Edit)
    $world = New-World -Source $Source -Edit $Edit
    foreach ($phase in 'bootstrap', 'prepare', 'install') {
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied" -Run $run -Code 0
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied again" -Run $run -Code 0
        Assert-That -Name "$phase changes nothing again" -Holds ($run.result.changed -eq 0) -Detail $run.text
    }
    Assert-That -Name 'nothing partial is left' -Holds (@(Get-Partial -World $world).Count -eq 0)
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'no seal without report' -Run $run -Code 8
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'test passes' -Run $run -Code 0
    $report = Read-Report -World $world
    $good = $report.passed -and $report.failed -eq 0 -and $report.checked -eq @($report.resources).Count
    Assert-That -Name 'the report is good and whole' -Holds ($good -and $report.checked -gt 0) -Detail $report
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'seal is applied' -Run $run -Code 0
    Restart-World -World $world
    Assert-Run -Name 'a clone starts' -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    $run = Invoke-Engine -World $world -Phase 'firstboot'
    Assert-Run -Name 'a clone starts again' -Run $run -Code 0
    Assert-That -Name 'its second start changes nothing' -Holds ($run.result.changed -eq 0) -Detail $run.text
    $run = Invoke-Engine -World $world -Phase 'node' -Mode 'test'
    Assert-Run -Name 'a clone is as planned' -Run $run -Code 0
    $journal = [IO.File]::ReadAllLines("$world/C/imagegen/journal.jsonl")
    $bad = @($journal | Where-Object { $null -eq ($_ | ConvertFrom-Json).name })
    Assert-That -Name 'every journal line is an entry' -Holds ($journal.Count -gt 0 -and $bad.Count -eq 0)
}

# A rendered plan's scripts may be signed, which no system but Windows can tell.
function Test-RenderedPlan {
    param([string] $Source)
    Test-WholeLife -Source $Source -Edit {
        param($content)
        if ($null -ne $content.PSObject.Properties['signers']) { $content.PSObject.Properties.Remove('signers') }
    }
}

# Plan and scripts alone: nothing is compared, and nothing is kept as an error.
function Test-Check {
    param([string] $Source)
    $world = New-World -Source $Source
    $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
    Assert-Run -Name 'a good plan is taken' -Run $run -Code 0
    $told = $null -ne $run.result -and $run.result.mode -eq 'check' -and $run.result.failed -eq 0
    Assert-That -Name 'a check has an outcome' -Holds $told -Detail $run.text
    $kept = [IO.File]::Exists("$world/C/imagegen/state/errors.log")
    Assert-That -Name 'a check that passes keeps no reason' -Holds (-not $kept)
    foreach ($name in 'engine/Reason.ps1', 'resources/file.ps1') {
        [IO.File]::AppendAllText("$world/C/imagegen/$name", "`n")
        $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
        Assert-Run -Name "a check finds a changed $name" -Run $run -Code 2
        Copy-Script -Destination "$world/C/imagegen"
    }
    $kept = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    $holds = $kept.Contains('script resources/file.ps1 is') -and -not $kept.Contains('Reason.ps1 is')
    Assert-That -Name 'the reason is kept by a script that was checked' -Holds $holds -Detail $kept
    . "$Provisioners/engine/Reports.ps1"
    $told = "$(Write-Line -Text "a$([char]27)[2Jb$([char]155)c`r`nd`re" 6>&1)"
    $holds = $told -ceq "imagegen: a?[2Jb?c`r`nd?e"
    Assert-That -Name 'no line moves the terminal' -Holds $holds -Detail $told
}

function Test-Drift {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    [IO.File]::AppendAllText("$world/C/opt/cni/bin/win-bridge.exe", 'x')
    Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
    Set-ServiceFailure -Name 'containerd' -ResetSeconds 1 -Actions @(@{ action = 'reboot'; delaySeconds = 1 })
    Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'One' -Kind 'MultiString' -Data @('a', 'b')
    Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Gone' -Kind 'DWord' -Data 1
    $wanted = 'cni/plugins containerd/service kubelet/program kubelet/service registry/list registry/none'
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'drift is found' -Run $run -Code 8
    $report = Read-Report -World $world
    $drifted = @($report.resources | Where-Object { $_.result -eq 'drifted' } | ForEach-Object { $_.name })
    $drifted = @($drifted | Sort-Object)
    Assert-That -Name 'exactly the drifted are reported' -Holds (($drifted -join ' ') -eq $wanted) -Detail $drifted
    $service = $report.resources | Where-Object { $_.name -eq 'kubelet/service' }
    $told = $service.differences[0]
    $good = $told.property -eq 'startType' -and $told.expected -eq 'auto' -and $told.actual -eq 'disabled'
    Assert-That -Name 'a difference says expected and actual' -Holds $good -Detail $told
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test' -ReportOnly
    Assert-Run -Name 'ReportOnly exits 0' -Run $run -Code 0
    Assert-Run -Name 'no seal after drift' -Run (Invoke-Engine -World $world -Phase 'seal') -Code 8
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'install after drift' -Run $run -Code 0
    Assert-That -Name 'install repairs the drifted' -Holds ($run.result.changed -eq 6) -Detail $run.text
    Assert-Run -Name 'test passes again' -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    Set-ServiceConfig -Name 'containerd' -Change @{ state = 'stopped' }
    $run = Invoke-Engine -World $world -Phase 'test'
    Assert-Run -Name 'an assertion says what was found' -Run $run -Code 1 -Text 'service containerd is stopped'
}

# A restart that is due stops features; the phase asks for it and is done after it. Packages that are not for this
# Windows are remembered, because no list names them.
function Test-Prepare {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    $run = Invoke-Engine -World $world -Phase 'prepare'
    Assert-Run -Name 'a pending restart is no failure' -Run $run -Code 0 -Text 'waits for a restart'
    Assert-That -Name 'a pending restart is asked for' -Holds $run.result.restart -Detail $run.text
    Restart-World -World $world
    Assert-Run -Name 'prepare after the restart' -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0

    foreach ($outcome in 'notApplicable', 'present') {
        $world = New-World -Source $Source
        Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Name "an update that is $outcome" -Run $run -Code 0
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase 'prepare'
        $holds = $run.result.changed -eq 0
        Assert-That -Name "an update that is $outcome is remembered" -Holds $holds -Detail $run.text
    }
    Test-RolledBackUpdate -Source $Source
    foreach ($kind in 'without', 'with another antivirus beside', 'with hidden exclusions of') {
        $world = New-World -Source $Source
        if ($kind -eq 'without') {
            Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
        } elseif ($kind -like '*hidden*') {
            Set-Simulation -Area 'os' -Name 'hidesExclusions' -Value 'yes'
        } else {
            $policy = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender'; Name = 'DisableAntiSpyware' }
            Set-RegistryValue @policy -Kind 'DWord' -Data 1
        }
        $run = Invoke-Engine -World $world -Phase 'install'
        Assert-Run -Name "a machine $kind Defender" -Run $run -Code 0
    }
    $found = @(Get-Simulation -Area 'defender' -Name 'process')
    Assert-That -Name 'what cannot be seen is excluded' -Holds ($found.Count -gt 0 -and $found[0]) -Detail $found
}

# An update that Windows takes back during its restart is installed once more. The list names it neither then nor
# where it is there under another name, which the package tells.
function Test-RolledBackUpdate {
    param([string] $Source)
    foreach ($outcome in 'present', 'restart') {
        $world = New-World -Source $Source
        Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value 'restart'
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-That -Name 'an update asks for a restart' -Holds $run.result.restart -Detail $run.text
        Restart-World -World $world
        Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Name "an update that was taken back and is $outcome" -Run $run -Code 0
        $holds = $run.result.changed -eq 1 -and $run.result.restart -eq ($outcome -eq 'restart')
        Assert-That -Name "it is installed once more: $outcome" -Holds $holds -Detail $run.text
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase 'prepare'
        if ($outcome -eq 'present') {
            Assert-That -Name 'it is remembered' -Holds ($run.result.changed -eq 0) -Detail $run.text
        } else {
            Assert-Run -Name 'an update that was taken back twice' -Run $run -Code 1 -Text 'during two restarts'
        }
    }
}

function Test-TimeLimit {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        $service = $content.resources | Where-Object { $_.name -eq 'containerd/service' }
        $service.timeoutSeconds = 1
        $service.properties.displayName = 'hangs'
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a service that hangs is given up' -Run $run -Code 1 -Text 'time limit of 1 s'
    $world = New-World -Source $Source -Edit {
        param($content)
        $service = Select-Named -Content $content -Name 'containerd/service'
        $service.properties.displayName = 'dies'
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a service that dies is given up' -Run $run -Code 1 -Text 'stopped while it was starting'

    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
        $sysprep.timeoutSeconds = 2
        $answers = Select-Named -Content $content -Name 'seal/answers'
        $answers = $answers.properties
        $answers.content = 'hangs'
        $answers.sha256 = Get-ByteHash -Bytes (Get-TextByte -Text 'hangs')
    }
    Assert-Run -Name 'checks before sysprep' -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'sysprep is given up with its log' -Run $run -Code 1 -Text 'last line of setuperr.log'
}

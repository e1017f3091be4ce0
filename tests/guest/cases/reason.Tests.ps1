# What the guest tells when something goes wrong, and what it remembers of it.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# An update that fails beside one that is installed, and one that Windows takes back during each restart.
Describe 'UpdateReason' -Tag 'engine' {
    It 'each update that fails is told, and two restarts are the end' {
        $failing = 'title of KB5001407: 0x80070643'
        $world = New-World
        Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'never'
        $run = Invoke-Engine -World $world -Phase 'prepare'
        $text = "not installed: $failing"
        Assert-Run -Run $run -Code 0 -Text $text
        $kept = [IO.File]::ReadAllText("$world/C/imagegen/journal.jsonl")
        $kept.Contains($failing) | Should -BeTrue -Because "it is in the journal: $($kept)"

        foreach ($kind in 'back', 'never') {
            $world = New-World
            Set-Simulation -Area 'updates' -Name 'KB5001407' -Value $kind
            foreach ($turn in 1, 2) {
                # Something else is installed beside it each time.
                Set-Simulation -Area 'updates' -Name '0fa1201d-4330-4fa8-8ae9-b877473b6441' -Value $null
                $run = Invoke-Engine -World $world -Phase 'prepare'
                $run.result.restart | Should -BeTrue -Because "${kind}: restart $turn is asked for: $($run.text)"
                Restart-World -World $world
            }
            $text = @{ back = 'title of KB5001407: Windows took it back'; never = $failing }[$kind]
            $run = Invoke-Engine -World $world -Phase 'prepare'
            Assert-Run -Run $run -Code 1 -Text 'behind two restarts, leave'
            $run.text.Contains($text) | Should -BeTrue -Because "${kind}: the end names the update: $($run.text)"
            Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'installed'
            Assert-Run -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
            $left = @(Get-ChildItem -LiteralPath "$world/C/imagegen/state" -Filter '*.json' |
                Where-Object { [IO.File]::ReadAllText($_.FullName).Contains('twice') })
            ($left.Count -eq 0) | Should -BeTrue -Because "${kind}: nothing is remembered then: $($left)"
        }
    }
}

# An update package that Windows took back once, then kept, and that a later update replaced in its list.
Describe 'HotfixRecord' -Tag 'engine' {
    It 'an update that stays behind its restart is settled' {
        $world = New-World
        foreach ($turn in 1, 2) {
            $run = Invoke-Engine -World $world -Phase 'prepare'
            $run.result.restart | Should -BeTrue -Because "an update asks for restart ${turn}: $($run.text)"
            Restart-World -World $world
            if ($turn -eq 1) { Clear-Entry -Area 'hotfixes' -Name 'KB5000822' }
        }
        Assert-Run -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
        Clear-Entry -Area 'hotfixes' -Name 'KB5000822'
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Run $run -Code 0
        ($run.result.changed -eq 0) | Should -BeTrue -Because "it is not installed again: $($run.text)"

        # Before its restart, what the list says is not yet so.
        $world = New-World
        $null = Invoke-Engine -World $world -Phase 'prepare'
        Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
        $null = Invoke-Engine -World $world -Phase 'prepare'
        Restart-World -World $world
        Clear-Entry -Area 'hotfixes' -Name 'KB5000822'
        $run = Invoke-Engine -World $world -Phase 'prepare'
        $holds = $run.result.changed -eq 1
        $holds | Should -BeTrue -Because "one that was taken back is installed again: $($run.text)"
    }
}

# WinRM's own reason, and a setting that a Group Policy holds.
Describe 'WinrmReason' -Tag 'engine' {
    It 'the reason of WinRM is told, and a policy is seen' {
        $world = New-World
        Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
        Set-Simulation -Area 'os' -Name 'network' -Value 'Public'
        $run = Invoke-Engine -World $world -Phase 'bootstrap'
        Assert-Run -Run $run -Code 0 -Text 'refused it: WinRM firewall exception'
        $kept = [IO.File]::ReadAllText("$world/C/imagegen/journal.jsonl")
        $kept.Contains('0x80338169') | Should -BeTrue -Because "the refusal is in the journal: $($kept)"

        $world = New-World
        $policy = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WinRM\Service'; Name = 'AllowBasic' }
        Set-RegistryValue @policy -Kind 'DWord' -Data 1
        $run = Invoke-Engine -World $world -Phase 'bootstrap'
        $text = 'Service\Auth\Basic stays true: The setting is controlled by use of policies'
        Assert-Run -Run $run -Code 1 -Text $text
    }
}

# The log of errors has lines of an older run.
Describe 'SealReason' -Tag 'engine' {
    It 'the errors of this run alone are told' {
        $world = New-InstalledWorld -Edit {
            param($content)
            $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
            $sysprep.timeoutSeconds = 2
        }
        Set-Simulation -Area 'os' -Name 'setuperr' -Value @('SYSPRP of another year', 'SYSPRP of the same')
        $null = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
        Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
        $run = Invoke-Engine -World $world -Phase 'seal'
        Assert-Run -Run $run -Code 1 -Text 'SYSPRP 0x80073cf2'
        $holds = -not $run.text.Contains('another year')
        $holds | Should -BeTrue -Because "no reason of an older run is told: $($run.text)"
        Set-Simulation -Area 'os' -Name 'setuperr' -Value @('SYSPRP anew')
        $told = Get-SysprepError -Before 2
        ($told -eq 'SYSPRP anew') | Should -BeTrue -Because "a log that was begun anew is told: $($told)"
        $told = Get-SysprepError -Before 1
        $told.Contains('nothing new') | Should -BeTrue -Because "a log with nothing new says so: $($told)"
    }
}

# A script that ends silently, or with words on the error stream alone, by the function of Windows itself.
Describe 'ScriptReason' -Tag 'engine' {
    It 'a script that fails has its exit code' {
        $null = New-World
        $shell = Get-PowerShellPath
        . "$Provisioners/engine/windows/process.ps1"
        $null = New-Item -Path 'function:Get-PowerShellPath' -Value { $shell } -Force
        $null = New-Item -Path 'function:Get-ChildPolicy' -Value { 'Bypass' } -Force
        Start-Deadline -Name 'scripts' -Seconds 120
        $rows = @{
            'exit 3' = 'the script failed with exit code 3'
            "throw 'of itself'" = 'the script failed with exit code 1: of itself'
            "[Console]::Error.WriteLine('aside'); exit 4" = 'the script failed with exit code 4: aside'
        }
        foreach ($text in $rows.Keys) {
            $told = Get-Refusal -Block { Invoke-ScriptText -Text $text }
            ($told -eq $rows[$text]) | Should -BeTrue -Because "a script that fails: ${text}: $($told)"
        }
    }
}

# Programs that take no input, and those that end before they have read all of it.
Describe 'UnreadInput' -Tag 'engine' {
    It 'input is given within the time limit, whoever reads it' {
        $null = New-World
        $long = 'x' * 1048576
        Start-Deadline -Name 'input' -Seconds 30
        # Ended by itself: who writes all before it reads would wait for ever.
        $cat = 'exec 3<&0; cat <&3 & p=$!; (sleep 20; kill $p) >/dev/null 2>&1 & wait $p'
        $ran = Invoke-Native -Program 'sh' -Arguments @('-c', $cat) -InputText $long
        ($ran.output -ceq $long) | Should -BeTrue -Because "a program gets its input whole: $($ran.output.Length)"
        foreach ($text in $long, 'short') {
            $with = @{ Program = 'sh'; Arguments = @('-c', 'echo enough; exit 7'); InputText = $text }
            $ran = Invoke-Native @with -Accept @()
            $told = "$($ran.exitCode) $($ran.output.Trim())"
            $holds = $told -eq '7 enough'
            $holds | Should -BeTrue -Because "a program need not read $($text.Length) characters: $($told)"
        }
        Start-Deadline -Name 'input' -Seconds 1
        $clock = [Diagnostics.Stopwatch]::StartNew()
        $told = Get-Refusal -Block {
            Invoke-Native -Program 'sh' -Arguments @('-c', 'sleep 10') -InputText $long
        }
        $holds = $told.Contains('time limit of 1 s') -and $clock.Elapsed.TotalSeconds -lt 9
        $holds | Should -BeTrue -Because "a program that reads no input is ended in time: $($told)"
    }
}

# Folders whose names are patterns.
Describe 'BracketFolder' -Tag 'engine' {
    It 'all of a folder is loaded, whatever its name' {
        $world = New-World
        $folder = "$world/C/x [1]"
        $null = [IO.Directory]::CreateDirectory($folder)
        foreach ($name in 'engine', 'resources') {
            Copy-Item -LiteralPath "$Provisioners/$name" -Destination "$folder/$name" -Recurse
        }
        foreach ($file in 'Windows.ps1', 'Engine.psm1') {
            $text = [IO.File]::ReadAllText("$folder/engine/$file")
            $lines = @($text.Split("`n") | Where-Object { $_ -cmatch '^foreach \(\$file in ' })
            $body = ($lines -join "`n").Replace('. $file.FullName', '$file.Name').Replace('$PSScriptRoot', '$Root')
            $found = @(& ([scriptblock]::Create("param(`$Root)`n$body")) "$folder/engine")
            $place = @{ 'Windows.ps1' = 'engine/windows'; 'Engine.psm1' = 'resources' }[$file]
            $wanted = @([IO.Directory]::GetFiles("$folder/$place", '*.ps1'))
            $holds = $found.Count -eq $wanted.Count -and $found.Count -gt 0
            $holds | Should -BeTrue -Because "$file loads all of a folder [1]: $($found.Count) $body"
        }
    }
}

# Forms of kubeadm's file that the launcher takes are forms for the node's scripts, too.
Describe 'ArgumentForm' -Tag 'engine' {
    It 'forms that the launcher takes are taken' {
        $world = New-World
        $file = "$world/C/flags.env"
        $mark = [string][char]0xfeff
        foreach ($before in '', $mark, '  ', 'export ', "$mark`texport  ") {
            [IO.File]::WriteAllText($file, "${before}ARGS=`"--a=\`"b\`"`"$(' ' * $before.Length)`r`n")
            $told = Get-Refusal -Block { Read-Argument -Path $file -Variable 'ARGS' }
            if (-not $told) { $told = Read-Argument -Path $file -Variable 'ARGS' }
            $label = $before.Replace($mark, 'mark').Replace("`t", ' ')
            ($told -ceq '--a="b"') | Should -BeTrue -Because "arguments behind ${label}: $($told)"
        }
        foreach ($text in 'ARGS="--a', 'OTHER="--a"' , "ARGS=`"--a`"`nARGS=`"--b`"`n") {
            [IO.File]::WriteAllText($file, "$text`n")
            { Read-Argument -Path $file -Variable 'ARGS' } | Should -Throw
        }
    }
}

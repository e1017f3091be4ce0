# What a node's scripts do after a cut of the power, beside others that hold their files, and under policies that
# they do not see.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# NTFS keeps the name of a file and not its bytes where the power goes before they are on the disk.
Describe 'LostRecord' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $records = @(Get-ChildItem -LiteralPath "$world/C/imagegen/state" -Filter '*.json' |
            Where-Object { $_.BaseName.Length -eq 32 })
    }

    It 'a node has records' {
        $records.Count | Should -BeGreaterThan 0
    }

    Context 'records that hold <what>' -ForEach @(
        @{ what = 'nothing'; lost = '' }
        @{ what = 'zeros'; lost = "$([char]0)$([char]0)" }
        @{ what = 'a beginning'; lost = '{"digest":' }
    ) {
        BeforeAll {
            foreach ($record in $records) { [IO.File]::WriteAllText($record.FullName, $lost) }
            $run = Invoke-Engine -World $world -Phase 'node'
        }

        It 'are made anew' {
            Assert-Run -Run $run -Code 0
        }

        It 'hold then' {
            Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Test-Node') -Code 0
        }
    }
}

# A log that somebody else holds keeps no script from its work.
Describe 'HeldLog' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $held = [IO.File]::Open("$world/C/imagegen/state/node.log", 'OpenOrCreate', 'ReadWrite', 'None')
    }

    AfterAll {
        $held.Dispose()
    }

    It 'a diagnosis whose log is held' {
        $with = @{ Destination = "$world/C/held.zip" }
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with) -Code 0
    }
}

# A machine that stops between two moves of an upgrade has its folders back after the next start.
Describe 'CutSwitch' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $root = "$world/C/imagegen"
        foreach ($name in 'previous', 'next') { $null = [IO.Directory]::CreateDirectory("$root/$name") }
        $with = @{ ArgumentList = @($script:PlatformFile, $root); PassThru = $true; Force = $true }
        $module = Import-Module -Name "$root/node/Node.psm1" @with
        & $module ([scriptblock]::Create('Register-Return -Aside'))
        $aside = Get-Task -Name 'imagegen-return'
        & $module ([scriptblock]::Create('Register-Return'))
        Remove-Module -ModuleInfo $module
        $encoded = $aside.argumentLine.Split(' ')[-1]
        $script:text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($encoded))
        $kept = "$root/previous/engine"
        $null = [IO.Directory]::CreateDirectory($kept)
    }

    Context '<name>' -ForEach @(@{ name = 'engine' }, @{ name = 'node' }) {
        BeforeAll {
            Move-Item -LiteralPath "$root/$name" -Destination "$root/$name.aside"
            $null = & ([scriptblock]::Create($text))
            $script:run = Invoke-NodeScript -World $World -Name 'Test-Node'
        }

        It 'an upgrade that was cut while <name> was aside' {
            Assert-Run -Run $run -Code 0
        }
    }

    It 'what was kept stays' {
        [IO.Directory]::Exists($kept) | Should -BeTrue
    }

    It 'a switch has a task for the next start' {
        [IO.Directory]::Delete($kept)
        $script:task = Get-Task -Name 'imagegen-return'
        $task.trigger | Should -Be 'startup' -Because $task
    }

    Context 'while it switches' {
        BeforeAll {
            $encoded = $task.argumentLine.Split(' ')[-1]
            $script:text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($encoded))
        }

        # While the old ones are moved away, and while the new ones are moved in.
        Context '<count>' -ForEach @(@{ count = 0 }, @{ count = 1 }) {
            BeforeAll {
                foreach ($name in 'engine', 'node') {
                    Move-Item -LiteralPath "$root/$name" -Destination "$root/previous/$name"
                }
                if ($count -eq 1) { $null = [IO.Directory]::CreateDirectory("$root/engine") }
                $null = & ([scriptblock]::Create($text))
                $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
            }

            It 'a switch that was cut after <count> new folders' {
                Assert-Run -Run $run -Code 0
            }
        }
    }
}

# Rules that a policy overrules are told. A policy may have such rules itself, so that the node joins.
Describe 'OverruledFirewall' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        $told = $run.text.Contains('AllowLocalPolicyMerge')
    }

    It 'no policy is told where there is none' {
        $told | Should -BeFalse -Because $run.text
    }

    It 'a policy that overrules the rules of a machine is told' {
        $key = 'HKLM:\SOFTWARE\Policies\Microsoft\WindowsFirewall\PublicProfile'
        Set-RegistryValue -Key $key -Name 'AllowLocalPolicyMerge' -Kind 'DWord' -Data 0
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Run $run -Code 0 -Text 'in the profiles Public'
    }
}

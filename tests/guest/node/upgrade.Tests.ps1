# The payload of another version on a node.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # The payload again with another plan; gives its archive.
    function New-Payload {
        param([string] $World, [string] $Folder, [scriptblock] $Edit)
        $path = "$Folder/guest-plan.json"
        $before = [IO.File]::ReadAllText($path)
        $content = $before | ConvertFrom-Json
        $null = & $Edit $content
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        $zip = "$World/C/other.zip"
        if ([IO.File]::Exists($zip)) { [IO.File]::Delete($zip) }
        [IO.Compression.ZipFile]::CreateFromDirectory($Folder, $zip)
        [IO.File]::WriteAllText($path, $before)
        $zip
    }
}

# The payload of the same plan is an upgrade to itself; one with another digest or of another machine is none.
Describe 'Upgrade' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $upgrade = 'C:\k\kubeadm.exe upgrade node'
        # With the patches of the join first.
        $null = [IO.Directory]::CreateDirectory("$world/C/etc/kubernetes/patches")
        $patched = "$upgrade --patches C:\etc\kubernetes\patches"
        Set-Simulation -Area 'programs' -Name $patched -Value @{ exitCode = 0; output = ''; creates = '' }
        [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
        $folder = "$world/C/payload"
        $null = [IO.Directory]::CreateDirectory($folder)
        foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
            Copy-Item -LiteralPath "$world/C/imagegen/$name" -Destination "$folder/$name" -Recurse
        }
        $script:zip = "$world/C/payload.zip"
        [IO.Compression.ZipFile]::CreateFromDirectory($folder, $zip)
        $with = @{ Payload = $zip; Sha256 = '0' * 64 }
        $script:run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With $with
    }

    It 'a payload with another digest is refused' {
        Assert-Run -Run $run -Code 1
    }

    It 'a refused payload changes nothing' {
        [IO.File]::Exists("$world/C/imagegen/guest-plan.json") | Should -BeTrue
    }

    It 'a folder that cannot be moved' {
        $script:digest = Get-Digest -Path $zip
        # What an upgrade that was cut off has left.
        $null = [IO.Directory]::CreateDirectory("$world/C/imagegen/node.aside")
        $with = @{ Payload = $zip; Sha256 = $digest }
        $script:run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With $with
        $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
        $run.code | Should -Be 1 -Because $told
        $told.Contains('node.aside, remove it') | Should -BeTrue -Because $told
    }

    It 'its node runs on' {
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $kubelet['state'] | Should -Be 'running' -Because $kubelet
    }

    It 'a payload is put in place, also without a task' {
        [IO.Directory]::Delete("$world/C/imagegen/node.aside")
        Set-Simulation -Area 'os' -Name 'noTasks' -Value 'yes'
        $null = [IO.Directory]::CreateDirectory("$world/C/imagegen/cache")
        [IO.File]::WriteAllText("$world/C/imagegen/cache/a.zip", 'x')
        $with = @{ Payload = $zip; Sha256 = $digest }
        $script:run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With $with
        Set-Simulation -Area 'os' -Name 'noTasks' -Value $null
        Assert-Run -Run $run -Code 0
    }

    It 'the payload before is kept' {
        [IO.File]::Exists("$world/C/imagegen/previous/guest-plan.json") | Should -BeTrue
    }

    It 'no download stays on the node' {
        $left = [IO.Directory]::Exists("$world/C/imagegen/cache")
        $left | Should -BeFalse
    }

    It 'the kubelet runs again' {
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $kubelet['state'] | Should -Be 'running'
    }

    Context 'plans of other versions' {
        BeforeAll {
            [IO.Directory]::Delete("$world/C/etc/kubernetes/patches")
            Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 0; output = ''; creates = '' }
            $script:plan = "$World/C/imagegen/guest-plan.json"
            $script:before = [IO.File]::ReadAllText($plan)
        }

        Context '<version>' -ForEach @(
            @{ version = '1.19.9' }
            @{ version = '1.22.0' }
            @{ version = '2.20.0' }
            @{ version = '1.20.0-rc.1' }
        ) {
            BeforeAll {
                $edit = { param($content) $content.kubernetes = $version }
                $other = New-Payload -World $World -Folder $Folder -Edit $edit
                $with = @{ Payload = $other; Sha256 = (Get-Digest -Path $other) }
                $script:run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
            }

            It 'no upgrade to <version>' {
                Assert-Run -Run $run -Code 1
            }

            It 'nothing changes for <version>' {
                $same = [IO.File]::ReadAllText($plan) -ceq $before
                $kubelet = Get-ServiceConfig -Name 'kubelet'
                $same | Should -BeTrue -Because $kubelet
    $kubelet['state'] | Should -Be 'running' -Because $kubelet
            }
        }
    }

    It 'an upgrade that wants a restart' {
        $other = New-Payload -World $World -Folder $Folder -Edit {
            param($content)
            $content.kubernetes = '1.21.0'
            $variable = Select-Named -Content $content -Name 'environment/variable'
            $variable.properties.value = 'other'
        }
        $with = @{ Payload = $other; Sha256 = (Get-Digest -Path $other) }
        $script:run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
        Assert-Run -Run $run -Code 3010
    }

    It 'the upgrade goes on' {
        Restart-World -World $World
        $script:run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Continue = $true }
        Assert-Run -Run $run -Code 0
    }

    It 'the kubelet runs after the restart' {
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $kubelet['state'] | Should -Be 'running'
    }

    It 'the plan before the restart is kept' {
        $back = [IO.File]::ReadAllText("$World/C/imagegen/previous/guest-plan.json")
        $back | Should -BeExactly $before
    }

    It 'the first plan again' {
        # As it was, for the cases that follow.
        [IO.File]::WriteAllText($plan, $before)
        Assert-Run -Run (Invoke-Engine -World $World -Phase 'node') -Code 0
    }

    It 'an upgrade that fails' {
        $script:plan = "$World/C/imagegen/guest-plan.json"
        $script:before = [IO.File]::ReadAllText($plan)
        $script:key = Get-ServiceKey -Name 'kubelet'
        Set-ServiceFailure -Name 'kubelet' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
        $script:recovery = Get-RegistryValue -Key $key -Name 'FailureActions'
        $upgrade = 'C:\k\kubeadm.exe upgrade node'
        Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 1; output = 'no' }
        $with = @{ Payload = $Zip; Sha256 = $Digest }
        $script:run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
        Assert-Run -Run $run -Code 1
    }

    It 'the old plan is back' {
        $told = [IO.File]::ReadAllText("$World/C/imagegen/state/errors.log")
        $told.Contains('the plan that was in use is back') | Should -BeTrue -Because $told
    }

    It 'byte for byte' {
        [IO.File]::ReadAllText($plan) | Should -BeExactly $before
    }

    It 'no task of the way back stays' {
        $task = Get-Task -Name 'imagegen-return'
        $null -eq $task | Should -BeTrue
    }

    It 'and the node runs' {
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $kubelet['state'] | Should -Be 'running'
    }

    It 'an upgrade that fails before it moves anything' {
        # What an upgrade before this one has kept is not the plan in use.
        [IO.File]::WriteAllText("$World/C/imagegen/previous/guest-plan.json", 'older')
        Set-Simulation -Area 'fails' -Name 'Add-StoreCertificate' -Value 'yes'
        $with = @{ Payload = $Zip; Sha256 = $Digest }
        $script:run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
        Set-Simulation -Area 'fails' -Name 'Add-StoreCertificate' -Value $null
        Assert-Run -Run $run -Code 1
    }

    It 'puts nothing back' {
        [IO.File]::ReadAllText($plan) | Should -BeExactly $before
    }

    It 'a reset that fails' {
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 1; output = 'no' }
        Assert-Run -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 1
    }

    It 'recovery actions are as before' {
        $found = Get-RegistryValue -Key $key -Name 'FailureActions'
        $found['data'] | Should -BeExactly $recovery['data'] -Because $found
    }
}

# What a platform's agent, a domain and Windows itself write on a clone and a node.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

# Azure's agent turns updates on before the first start is over, and once more later, as does a domain's policy.
Describe 'ForeignWrite' -Tag 'node' {
    BeforeAll {
        $updates = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'; Name = 'NoAutoUpdate' }
        $world = New-NodeWorld
        Set-RegistryValue @updates -Kind 'DWord' -Data 0
        $run = Invoke-NodeScript -World $world -Name 'Initialize-Clone'
    }

    It 'a clone of a platform that turns updates on' {
        Assert-Run -Run $run -Code 0
    }

    It 'its first start turns them off again' {
        $found = Get-RegistryValue @updates
        $found | Should -Not -Be $null
        $found.data | Should -Be 1 -Because $found
    }

    It 'what a platform writes later is a note' {
        Set-RegistryValue @updates -Kind 'DWord' -Data 0
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        $text = 'note registry/updates data: planned 1, found 0: Windows asks before it installs'
        Assert-Run -Run $run -Code 0 -Text $text
    }

    It 'its report has the difference' {
        $report = [IO.File]::ReadAllText("$world/C/imagegen/state/drift.json") | ConvertFrom-Json
        $told = $report.resources | Where-Object { $_.name -eq 'registry/updates' }
        $told.result | Should -Be 'unchanged' -Because $told
        $told.differences[0].actual | Should -Be '0' -Because $told
    }

    It 'and it joins' {
        $join = "C:\k\kubeadm.exe join --config $world/C/etc/kubernetes/join-config.yaml"
        $played = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
        Set-Simulation -Area 'programs' -Name $join -Value $played
        [IO.File]::WriteAllText("$world/C/etc/kubernetes/join-config.yaml", 'token: x')
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 0
    }

    It 'another difference beside a note is a drift' {
        Set-RegistryValue @updates -Kind 'QWord' -Data 0
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        $text = 'kind: expected DWord, found QWord'
        Assert-Run -Run $run -Code 8 -Text $text
    }

    It 'and the only one' {
        $report = [IO.File]::ReadAllText("$world/C/imagegen/state/drift.json") | ConvertFrom-Json
        $told = @($report.resources | Where-Object { $_.result -eq 'drifted' })
        $told = @($told | ForEach-Object { $_.differences } | ForEach-Object { $_.property })
        ($told -join ' ') | Should -Be 'kind' -Because $told
    }
}

# A domain's policy is below the same keys as what an image sets, comes again at each start, and is the customer's.
Describe 'DomainPolicy' -Tag 'node' {
    BeforeAll {
        $updates = @{ key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'; name = 'NoAutoUpdate' }
        $world = New-NodeWorld
        Set-Simulation -Area 'policies' -Name 'updates' -Value ($updates + @{ kind = 'DWord'; data = 0 })
        Restart-World -World $world
        $script:run = Invoke-NodeScript -World $world -Name 'Test-Node'
    }

    It 'a domain wins over what the image says' {
        (Get-RegistryValue @updates).data | Should -Be 0
    }

    It 'a node of a domain has not drifted' {
        Assert-Run -Run $run -Code 0 -Text 'note registry/updates data: planned 1, found 0'
    }

    It 'a reset takes nothing of the domain for good' {
        $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
        Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
        Restart-World -World $world
        Assert-Run -Run (Invoke-NodeScript -World $world -Name 'Test-Node') -Code 0 -Text 'found 0'
    }
}

# DHCP may be late: no network of the host is made on a card whose address is none of its network.
Describe 'LateAddress' -Tag 'node' {
    BeforeAll {
        $world = New-NodeWorld
        $with = @($script:PlatformFile, "$world/C/imagegen")
        $module = Import-Module -Name "$world/C/imagegen/node/Node.psm1" -ArgumentList $with -Force -PassThru
        $make = {
            Set-Variable -Name 'PSDefaultParameterValues' -Value @{ 'Wait-CardAddress:Seconds' = 1 }
            Start-Deadline -Name 'late' -Seconds 20
            Initialize-NatNetwork
        }
        Set-Simulation -Area 'networks' -Name 'nat' -Value $null
    }

    It 'a card with an address that Windows made up is named' {
        Set-Simulation -Area 'os' -Name 'address' -Value '169.254.3.4'
        $why = Get-Refusal -Block { & $module $make }
        $why | Should -Be 'no card has an address of its network after 1 s: Ethernet 2 (169.254.3.4)'
    }

    It 'a card without an address is named' {
        Set-Simulation -Area 'os' -Name 'address' -Value ''
        $why = Get-Refusal -Block { & $module $make }
        $why | Should -Be 'no card has an address of its network after 1 s: Ethernet 2 (none)'
    }

    It 'neither gets a network' {
        Get-Simulation -Area 'networks' -Name 'nat' | Should -Be $null
    }

    It 'a card with an address gets one' {
        Set-Simulation -Area 'os' -Name 'address' -Value $null
        (& $module $make).network | Should -Not -BeNullOrEmpty
    }

    It 'flannel names the cards without the address of the node' {
        $script = "$Provisioners/../manifests/cluster/scripts/Start-Flannel.ps1"
        $tokens, $problems = $null
        $ast = [Management.Automation.Language.Parser]::ParseFile($script, [ref]$tokens, [ref]$problems)
        $function = { param($part) $part -is [Management.Automation.Language.FunctionDefinitionAst] }
        . ([scriptblock]::Create($ast.Find($function, $false).Extent.Text))
        $why = Get-Refusal -Block { Wait-Address -Address '192.0.2.77' -Seconds 1 }
        $why | Should -Match "^no card has the node's address 192\.0\.2\.77 after 1 s: .*127\.0\.0\.1"
        Get-Refusal -Block { Wait-Address -Address '127.0.0.1' -Seconds 1 } | Should -Be ''
    }
}

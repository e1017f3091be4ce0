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

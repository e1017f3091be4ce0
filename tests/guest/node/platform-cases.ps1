# What a platform's agent, a domain and Windows itself write on a clone and a node. Loaded by run.ps1.

# Azure's agent turns updates on before the first start is over, and once more later, as does a domain's policy.
function Test-ForeignWrite {
    param([string] $Source)
    $updates = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'; Name = 'NoAutoUpdate' }
    $world = New-NodeWorld -Source $Source
    Set-RegistryValue @updates -Kind 'DWord' -Data 0
    $run = Invoke-NodeScript -World $world -Name 'Initialize-Clone'
    Assert-Run -Name 'a clone of a platform that turns updates on' -Run $run -Code 0
    $found = Get-RegistryValue @updates
    $holds = $null -ne $found -and $found.data -eq 1
    Assert-That -Name 'its first start turns them off again' -Holds $holds -Detail $found
    Set-RegistryValue @updates -Kind 'DWord' -Data 0
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    $text = 'note registry/updates data: planned 1, found 0: Windows asks before it installs'
    Assert-Run -Name 'what a platform writes later is a note' -Run $run -Code 0 -Text $text
    $report = [IO.File]::ReadAllText("$world/C/imagegen/state/drift.json") | ConvertFrom-Json
    $told = $report.resources | Where-Object { $_.name -eq 'registry/updates' }
    $holds = $told.result -eq 'unchanged' -and $told.differences[0].actual -eq '0'
    Assert-That -Name 'its report has the difference' -Holds $holds -Detail $told
    $join = "C:\k\kubeadm.exe join --config $world/C/etc/kubernetes/join-config.yaml"
    $played = @{ exitCode = 0; output = ''; creates = 'C:\etc\kubernetes\kubelet.conf' }
    Set-Simulation -Area 'programs' -Name $join -Value $played
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/join-config.yaml", 'token: x')
    Assert-Run -Name 'and it joins' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 0
    Set-RegistryValue @updates -Kind 'QWord' -Data 0
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    $text = 'kind: expected DWord, found QWord'
    Assert-Run -Name 'another difference beside a note is a drift' -Run $run -Code 8 -Text $text
    $report = [IO.File]::ReadAllText("$world/C/imagegen/state/drift.json") | ConvertFrom-Json
    $told = @($report.resources | Where-Object { $_.result -eq 'drifted' })
    $told = @($told | ForEach-Object { $_.differences } | ForEach-Object { $_.property })
    Assert-That -Name 'and the only one' -Holds (($told -join ' ') -eq 'kind') -Detail $told
}

# The payload of another version on a node. Loaded by run.ps1.

# The payload of the same plan is an upgrade to itself; one with another digest or of another machine is none.
function Test-Upgrade {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
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
    $zip = "$world/C/payload.zip"
    [IO.Compression.ZipFile]::CreateFromDirectory($folder, $zip)
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = '0' * 64 }
    Assert-Run -Name 'a payload with another digest is refused' -Run $run -Code 1
    $kept = [IO.File]::Exists("$world/C/imagegen/guest-plan.json")
    Assert-That -Name 'a refused payload changes nothing' -Holds $kept
    $digest = Get-Digest -Path $zip
    # Stands for a shell that is in the folder, which keeps nothing here from moving it.
    $null = [IO.Directory]::CreateDirectory("$world/C/imagegen/node.aside")
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = $digest }
    $told = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    $holds = $run.code -eq 1 -and $told.Contains('cannot be moved')
    Assert-That -Name 'a folder that cannot be moved' -Holds $holds -Detail $told
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'its node runs on' -Holds ($kubelet['state'] -eq 'running') -Detail $kubelet
    [IO.Directory]::Delete("$world/C/imagegen/node.aside")
    Set-Simulation -Area 'os' -Name 'noTasks' -Value 'yes'
    $null = [IO.Directory]::CreateDirectory("$world/C/imagegen/cache")
    [IO.File]::WriteAllText("$world/C/imagegen/cache/a.zip", 'x')
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = $digest }
    Set-Simulation -Area 'os' -Name 'noTasks' -Value $null
    Assert-Run -Name 'a payload is put in place, also without a task' -Run $run -Code 0
    $kept = [IO.File]::Exists("$world/C/imagegen/previous/guest-plan.json")
    Assert-That -Name 'the payload before is kept' -Holds $kept
    $left = [IO.Directory]::Exists("$world/C/imagegen/cache")
    Assert-That -Name 'no download stays on the node' -Holds (-not $left)
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'the kubelet runs again' -Holds ($kubelet['state'] -eq 'running')
    [IO.Directory]::Delete("$world/C/etc/kubernetes/patches")
    Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 0; output = ''; creates = '' }
    Test-OtherUpgrade -World $world -Folder $folder
    Test-FailedUpgrade -World $world -Zip $zip -Digest $digest
}

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

# An older Kubernetes and one of two minor versions more are refused and change nothing; an upgrade that wants a
# restart goes on with -Continue.
function Test-OtherUpgrade {
    param([string] $World, [string] $Folder)
    $plan = "$World/C/imagegen/guest-plan.json"
    $before = [IO.File]::ReadAllText($plan)
    foreach ($version in '1.19.9', '1.22.0', '2.20.0', '1.20.0-rc.1') {
        $edit = { param($content) $content.kubernetes = $version }
        $zip = New-Payload -World $World -Folder $Folder -Edit $edit
        $with = @{ Payload = $zip; Sha256 = (Get-Digest -Path $zip) }
        $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
        Assert-Run -Name "no upgrade to $version" -Run $run -Code 1
        $same = [IO.File]::ReadAllText($plan) -ceq $before
        $kubelet = Get-ServiceConfig -Name 'kubelet'
        $holds = $same -and $kubelet['state'] -eq 'running'
        Assert-That -Name "nothing changes for $version" -Holds $holds -Detail $kubelet
    }
    $zip = New-Payload -World $World -Folder $Folder -Edit {
        param($content)
        $content.kubernetes = '1.21.0'
        $variable = Select-Named -Content $content -Name 'environment/variable'
        $variable.properties.value = 'other'
    }
    $with = @{ Payload = $zip; Sha256 = (Get-Digest -Path $zip) }
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With $with
    Assert-Run -Name 'an upgrade that wants a restart' -Run $run -Code 3010
    Restart-World -World $World
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Continue = $true }
    Assert-Run -Name 'the upgrade goes on' -Run $run -Code 0
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'the kubelet runs after the restart' -Holds ($kubelet['state'] -eq 'running')
    $back = [IO.File]::ReadAllText("$World/C/imagegen/previous/guest-plan.json")
    Assert-That -Name 'the plan before the restart is kept' -Holds ($back -ceq $before)
    # As it was, for the cases that follow.
    [IO.File]::WriteAllText($plan, $before)
    Assert-Run -Name 'the first plan again' -Run (Invoke-Engine -World $World -Phase 'node') -Code 0
}

# An upgrade that fails puts the plan back that was in use, and a reset that fails leaves recovery actions on.
function Test-FailedUpgrade {
    param([string] $World, [string] $Zip, [string] $Digest)
    $plan = "$World/C/imagegen/guest-plan.json"
    $before = [IO.File]::ReadAllText($plan)
    $key = Get-ServiceKey -Name 'kubelet'
    Set-ServiceFailure -Name 'kubelet' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    $recovery = Get-RegistryValue -Key $key -Name 'FailureActions'
    $upgrade = 'C:\k\kubeadm.exe upgrade node'
    Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 1; output = 'no' }
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Payload = $Zip; Sha256 = $Digest }
    Assert-Run -Name 'an upgrade that fails' -Run $run -Code 1
    $told = [IO.File]::ReadAllText("$World/C/imagegen/state/errors.log")
    $holds = $told.Contains('the plan that was in use is back')
    Assert-That -Name 'the old plan is back' -Holds $holds -Detail $told
    Assert-That -Name 'byte for byte' -Holds ([IO.File]::ReadAllText($plan) -ceq $before)
    $task = Get-Task -Name 'imagegen-return'
    Assert-That -Name 'no task of the way back stays' -Holds ($null -eq $task) -Detail $task
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    Assert-That -Name 'and the node runs' -Holds ($kubelet['state'] -eq 'running')
    # What an upgrade before this one has kept is not the plan in use.
    [IO.File]::WriteAllText("$World/C/imagegen/previous/guest-plan.json", 'older')
    Set-Simulation -Area 'fails' -Name 'Add-StoreCertificate' -Value 'yes'
    $run = Invoke-NodeScript -World $World -Name 'Upgrade-Node' -With @{ Payload = $Zip; Sha256 = $Digest }
    Set-Simulation -Area 'fails' -Name 'Add-StoreCertificate' -Value $null
    Assert-Run -Name 'an upgrade that fails before it moves anything' -Run $run -Code 1
    Assert-That -Name 'puts nothing back' -Holds ([IO.File]::ReadAllText($plan) -ceq $before)
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 1; output = 'no' }
    Assert-Run -Name 'a reset that fails' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 1
    $found = Get-RegistryValue -Key $key -Name 'FailureActions'
    $holds = $found['data'] -ceq $recovery['data']
    Assert-That -Name 'recovery actions are as before' -Holds $holds -Detail $found
}

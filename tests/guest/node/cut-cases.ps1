# What a node's scripts do after a cut of the power, beside others that hold their files, and under policies that
# they do not see. Loaded by run.ps1.

# NTFS keeps the name of a file and not its bytes where the power goes before they are on the disk.
function Test-LostRecord {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $records = @(Get-ChildItem -LiteralPath "$world/C/imagegen/state" -Filter '*.json' |
        Where-Object { $_.BaseName.Length -eq 32 })
    Assert-That -Name 'a node has records' -Holds ($records.Count -gt 0)
    foreach ($lost in '', "$([char]0)$([char]0)", '{"digest":') {
        foreach ($record in $records) { [IO.File]::WriteAllText($record.FullName, $lost) }
        $run = Invoke-Engine -World $world -Phase 'node'
        Assert-Run -Name "records with '$lost' are made anew" -Run $run -Code 0
        Assert-Run -Name 'and hold' -Run (Invoke-NodeScript -World $world -Name 'Test-Node') -Code 0
    }
}

# A log that somebody else holds keeps no script from its work.
function Test-HeldLog {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $held = [IO.File]::Open("$world/C/imagegen/state/node.log", 'OpenOrCreate', 'ReadWrite', 'None')
    try {
        $with = @{ Destination = "$world/C/held.zip" }
        $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
        Assert-Run -Name 'a diagnosis whose log is held' -Run $run -Code 0
    } finally {
        $held.Dispose()
    }
}

# A machine that stops between two moves of an upgrade has its folders back after the next start.
function Test-CutSwitch {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $root = "$world/C/imagegen"
    foreach ($name in 'previous', 'next') { $null = [IO.Directory]::CreateDirectory("$root/$name") }
    $with = @{ ArgumentList = @($script:PlatformFile, $root); PassThru = $true; Force = $true }
    $module = Import-Module -Name "$root/node/Node.psm1" @with
    & $module ([scriptblock]::Create('Register-Return -Aside'))
    $aside = Get-Task -Name 'imagegen-return'
    & $module ([scriptblock]::Create('Register-Return'))
    Remove-Module -ModuleInfo $module
    Test-CutAside -World $world -Task $aside
    $task = Get-Task -Name 'imagegen-return'
    $isAtStart = $null -ne $task -and $task.trigger -eq 'startup'
    Assert-That -Name 'a switch has a task for the next start' -Holds $isAtStart -Detail $task
    if (-not $isAtStart) { return }
    $encoded = $task.argumentLine.Split(' ')[-1]
    $text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($encoded))
    # While the old ones are moved away, and while the new ones are moved in.
    foreach ($count in 0, 1) {
        foreach ($name in 'engine', 'node') {
            Move-Item -LiteralPath "$root/$name" -Destination "$root/previous/$name"
        }
        if ($count -eq 1) { $null = [IO.Directory]::CreateDirectory("$root/engine") }
        $null = & ([scriptblock]::Create($text))
        $run = Invoke-NodeScript -World $world -Name 'Test-Node'
        Assert-Run -Name "a switch that was cut after $count new folders" -Run $run -Code 0
    }
}

# So has one that stops while an upgrade asks whether its folders can be moved. What the upgrade before has kept
# stays.
function Test-CutAside {
    param([string] $World, $Task)
    $root = "$World/C/imagegen"
    $encoded = $Task.argumentLine.Split(' ')[-1]
    $text = [Text.Encoding]::Unicode.GetString([Convert]::FromBase64String($encoded))
    $kept = "$root/previous/engine"
    $null = [IO.Directory]::CreateDirectory($kept)
    foreach ($name in 'engine', 'node') {
        Move-Item -LiteralPath "$root/$name" -Destination "$root/$name.aside"
        $null = & ([scriptblock]::Create($text))
        $run = Invoke-NodeScript -World $World -Name 'Test-Node'
        Assert-Run -Name "an upgrade that was cut while $name was aside" -Run $run -Code 0
    }
    Assert-That -Name 'what was kept stays' -Holds ([IO.Directory]::Exists($kept))
    [IO.Directory]::Delete($kept)
}

# Rules that a policy overrules are told. A policy may have such rules itself, so that the node joins.
function Test-OverruledFirewall {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    $told = $run.text.Contains('AllowLocalPolicyMerge')
    Assert-That -Name 'no policy is told where there is none' -Holds (-not $told) -Detail $run.text
    $key = 'HKLM:\SOFTWARE\Policies\Microsoft\WindowsFirewall\PublicProfile'
    Set-RegistryValue -Key $key -Name 'AllowLocalPolicyMerge' -Kind 'DWord' -Data 0
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    $name = 'a policy that overrules the rules of a machine is told'
    Assert-Run -Name $name -Run $run -Code 0 -Text 'in the profiles Public'
}

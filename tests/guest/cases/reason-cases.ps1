# What the guest tells when something goes wrong, and what it remembers of it. Loaded by run.ps1.

# An update that fails beside one that is installed, and one that Windows takes back during each restart.
function Test-UpdateReason {
    param([string] $Source)
    $failing = 'title of KB5001407: 0x80070643'
    $world = New-World -Source $Source
    Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'never'
    $run = Invoke-Engine -World $world -Phase 'prepare'
    $text = "not installed: $failing"
    Assert-Run -Name 'an update that fails beside another is told' -Run $run -Code 0 -Text $text
    $kept = [IO.File]::ReadAllText("$world/C/imagegen/journal.jsonl")
    Assert-That -Name 'it is in the journal' -Holds $kept.Contains($failing) -Detail $kept

    foreach ($kind in 'back', 'never') {
        $world = New-World -Source $Source
        Set-Simulation -Area 'updates' -Name 'KB5001407' -Value $kind
        foreach ($turn in 1, 2) {
            # Something else is installed beside it each time.
            Set-Simulation -Area 'updates' -Name '0fa1201d-4330-4fa8-8ae9-b877473b6441' -Value $null
            $run = Invoke-Engine -World $world -Phase 'prepare'
            Assert-That -Name "${kind}: restart $turn is asked for" -Holds $run.result.restart -Detail $run.text
            Restart-World -World $world
        }
        $text = @{ back = 'title of KB5001407: Windows took it back'; never = $failing }[$kind]
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Name "${kind}: two restarts are the end" -Run $run -Code 1 -Text 'behind two restarts, leave'
        Assert-That -Name "${kind}: the end names the update" -Holds $run.text.Contains($text) -Detail $run.text
        Set-Simulation -Area 'updates' -Name 'KB5001407' -Value 'installed'
        Assert-Run -Name "${kind}: settled" -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
        $left = @(Get-ChildItem -LiteralPath "$world/C/imagegen/state" -Filter '*.json' |
            Where-Object { [IO.File]::ReadAllText($_.FullName).Contains('twice') })
        Assert-That -Name "${kind}: nothing is remembered then" -Holds ($left.Count -eq 0) -Detail $left
    }
}

# An update package that Windows took back once, then kept, and that a later update replaced in its list.
function Test-HotfixRecord {
    param([string] $Source)
    $world = New-World -Source $Source
    foreach ($turn in 1, 2) {
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-That -Name "an update asks for restart $turn" -Holds $run.result.restart -Detail $run.text
        Restart-World -World $world
        if ($turn -eq 1) { Clear-Entry -Area 'hotfixes' -Name 'KB5000822' }
    }
    Assert-Run -Name 'an update that was kept' -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0
    Clear-Entry -Area 'hotfixes' -Name 'KB5000822'
    $run = Invoke-Engine -World $world -Phase 'prepare'
    Assert-Run -Name 'what replaces it in the list takes nothing back' -Run $run -Code 0
    Assert-That -Name 'it is not installed again' -Holds ($run.result.changed -eq 0) -Detail $run.text

    # Before its restart, what the list says is not yet so.
    $world = New-World -Source $Source
    $null = Invoke-Engine -World $world -Phase 'prepare'
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    $null = Invoke-Engine -World $world -Phase 'prepare'
    Restart-World -World $world
    Clear-Entry -Area 'hotfixes' -Name 'KB5000822'
    $run = Invoke-Engine -World $world -Phase 'prepare'
    $holds = $run.result.changed -eq 1
    Assert-That -Name 'one that was taken back is installed again' -Holds $holds -Detail $run.text
}

# WinRM's own reason, and a setting that a Group Policy holds.
function Test-WinrmReason {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
    Set-Simulation -Area 'os' -Name 'network' -Value 'Public'
    $run = Invoke-Engine -World $world -Phase 'bootstrap'
    Assert-Run -Name 'a setting that WinRM refused' -Run $run -Code 0 -Text 'refused it: WinRM firewall exception'
    $kept = [IO.File]::ReadAllText("$world/C/imagegen/journal.jsonl")
    Assert-That -Name 'the refusal is in the journal' -Holds $kept.Contains('0x80338169') -Detail $kept

    $world = New-World -Source $Source
    $policy = @{ Key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WinRM\Service'; Name = 'AllowBasic' }
    Set-RegistryValue @policy -Kind 'DWord' -Data 1
    $run = Invoke-Engine -World $world -Phase 'bootstrap'
    $text = 'Service\Auth\Basic stays true: The setting is controlled by use of policies'
    Assert-Run -Name 'a setting that a policy holds is not reported as set' -Run $run -Code 1 -Text $text
}

# The log of errors has lines of an older run.
function Test-SealReason {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
        $sysprep.timeoutSeconds = 2
    }
    Set-Simulation -Area 'os' -Name 'setuperr' -Value @('SYSPRP of another year', 'SYSPRP of the same')
    $null = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'Sysprep is refused' -Run $run -Code 1 -Text 'SYSPRP 0x80073cf2'
    $holds = -not $run.text.Contains('another year')
    Assert-That -Name 'no reason of an older run is told' -Holds $holds -Detail $run.text
    Set-Simulation -Area 'os' -Name 'setuperr' -Value @('SYSPRP anew')
    $told = Get-SysprepError -Before 2
    Assert-That -Name 'a log that was begun anew is told' -Holds ($told -eq 'SYSPRP anew') -Detail $told
    $told = Get-SysprepError -Before 1
    Assert-That -Name 'a log with nothing new says so' -Holds $told.Contains('nothing new') -Detail $told
}

# A script that ends silently, or with words on the error stream alone, by the function of Windows itself.
function Test-ScriptReason {
    param([string] $Source)
    $null = New-World -Source $Source
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
        Assert-That -Name "a script that fails: $text" -Holds ($told -eq $rows[$text]) -Detail $told
    }
}

# Programs that take no input, and those that end before they have read all of it.
function Test-UnreadInput {
    param([string] $Source)
    $null = New-World -Source $Source
    $long = 'x' * 1048576
    Start-Deadline -Name 'input' -Seconds 30
    $ran = Invoke-Native -Program 'sh' -Arguments @('-c', 'cat') -InputText $long
    Assert-That -Name 'a program gets its input whole' -Holds ($ran.output -ceq $long) -Detail $ran.output.Length
    foreach ($text in $long, 'short') {
        $ran = Invoke-Native -Program 'sh' -Arguments @('-c', 'echo enough; exit 7') -InputText $text -Accept @()
        $told = "$($ran.exitCode) $($ran.output.Trim())"
        $holds = $told -eq '7 enough'
        Assert-That -Name "a program need not read $($text.Length) characters" -Holds $holds -Detail $told
    }
    Start-Deadline -Name 'input' -Seconds 1
    $clock = [Diagnostics.Stopwatch]::StartNew()
    $told = Get-Refusal -Block {
        Invoke-Native -Program 'sh' -Arguments @('-c', 'sleep 10') -InputText $long
    }
    $holds = $told.Contains('time limit of 1 s') -and $clock.Elapsed.TotalSeconds -lt 9
    Assert-That -Name 'a program that reads no input is ended in time' -Holds $holds -Detail $told
}

# Folders whose names are patterns.
function Test-BracketFolder {
    param([string] $Source)
    $world = New-World -Source $Source
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
        $wanted = @([IO.Directory]::GetFiles("$folder/$(@{ 'Windows.ps1' = 'engine/windows' }[$file])", '*.ps1'))
        if ($file -eq 'Engine.psm1') { $wanted = @([IO.Directory]::GetFiles("$folder/resources", '*.ps1')) }
        $holds = $found.Count -eq $wanted.Count -and $found.Count -gt 0
        Assert-That -Name "$file loads all of a folder [1]" -Holds $holds -Detail "$($found.Count) $body"
    }
}

# The installer once more after everything is done: it brings nothing back.
function Test-DoneInstall {
    param([string] $Source)
    $world = New-InstallerWorld -Source $Source
    $null = [IO.Directory]::CreateDirectory("$world/installer/artifacts")
    [IO.File]::WriteAllText("$world/installer/artifacts/large", 'x')
    $run = Invoke-Installer -Folder "$world/installer"
    $there = [IO.File]::Exists("$world/C/imagegen/artifacts/large")
    Assert-That -Name 'the artifacts come along' -Holds $there -Detail $run.text
    for ($turn = 1; $run.code -eq 3010 -and $turn -lt 5; $turn++) {
        Restart-World -World $world
        $run = Invoke-Installer -Folder "$world/C/imagegen"
    }
    Assert-Run -Name 'an installation with artifacts is completed' -Run $run -Code 0
    # As the plan's last phase does.
    [IO.Directory]::Delete("$world/C/imagegen/artifacts", $true)
    $run = Invoke-Installer -Folder "$world/installer"
    Assert-Run -Name 'an installer of what is done' -Run $run -Code 0
    $there = [IO.Directory]::Exists("$world/C/imagegen/artifacts")
    Assert-That -Name 'it brings no artifacts back' -Holds (-not $there)
}

# Forms of kubeadm's file that the launcher takes are forms for the node's scripts, too.
function Test-ArgumentForm {
    param([string] $Source)
    $world = New-World -Source $Source
    $file = "$world/C/flags.env"
    $mark = [string][char]0xfeff
    foreach ($before in '', $mark, '  ', 'export ', "$mark`texport  ") {
        [IO.File]::WriteAllText($file, "${before}ARGS=`"--a=\`"b\`"`"$(' ' * $before.Length)`r`n")
        $told = Get-Refusal -Block { Read-Argument -Path $file -Variable 'ARGS' }
        if (-not $told) { $told = Read-Argument -Path $file -Variable 'ARGS' }
        $label = $before.Replace($mark, 'mark').Replace("`t", ' ')
        Assert-That -Name "arguments behind '$label'" -Holds ($told -ceq '--a="b"') -Detail $told
    }
    foreach ($text in 'ARGS="--a', 'OTHER="--a"' , "ARGS=`"--a`"`nARGS=`"--b`"`n") {
        [IO.File]::WriteAllText($file, "$text`n")
        Assert-Throw -Name "no arguments: $text" -Block { Read-Argument -Path $file -Variable 'ARGS' }
    }
}

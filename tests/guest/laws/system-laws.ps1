# Programs, ports, answers and the machine as a whole obey what laws.json says of them. Loaded by run.ps1.

function Test-WholeMachine {
    param([string] $Source)
    $null = New-World -Source $Source
    $found = Get-OsBuild
    $holds = $found.build -eq 17763 -and $found.revision -eq 9999
    Assert-That -Name 'the build of the machine is two numbers' -Holds $holds -Detail $found
    Set-PowerPlan -Plan '381b4222-f694-41f0-9685-ff5bb260df2e'
    $found = Get-PowerPlan
    $holds = $found -eq '381b4222-f694-41f0-9685-ff5bb260df2e'
    Assert-That -Name 'the power plan is the one that was set' -Holds $holds -Detail $found
    Set-Simulation -Area 'os' -Name 'shell' -Value 'this is a 32-bit process'
    $found = "$(Get-ShellObstacle)"
    Assert-That -Name 'a shell that is not ours is named' -Holds ($found -match '32-bit') -Detail $found
    Set-Simulation -Area 'os' -Name 'free' -Value 1024
    $found = Get-FreeSpace
    Assert-That -Name 'a machine without space is refused' -Holds ($found -eq 1024) -Detail $found
    Request-Restart
    $found = Get-Simulation -Area 'os' -Name 'restart'
    Assert-That -Name 'a restart is asked for, not waited for' -Holds ($found -eq 'asked') -Detail $found
    Set-Simulation -Area 'os' -Name 'guest' -Value 'yes'
    $holds = -not (Test-Administrator)
    Assert-That -Name 'a user is told that an administrator is needed' -Holds $holds
    Set-Simulation -Area 'features' -Name 'Unheard-Of' -Value 'unknown'
    $said = Get-Refusal -Block { Test-Feature -Name 'Unheard-Of' }
    Assert-That -Name 'a feature that this Windows does not know is an error' -Holds ($said -ne '') -Detail $said
    $found = Get-DynamicPort -Protocol 'TCP'
    $told = "$($found.start) $($found.count)"
    $holds = $told -eq '49152 16384'
    Assert-That -Name 'without a change the dynamic ports begin at 49152' -Holds $holds -Detail $told
    Set-Simulation -Area 'cards' -Name '10.9.9.9' -Value 'Ethernet'
    $card = Get-NetworkCard -Address '10.9.9.9'
    $holds = (Test-NetworkAddress -Address '10.9.9.9') -and $card.length -gt 0
    Assert-That -Name 'an address of a card is there' -Holds $holds -Detail $card
    Set-DefenderExclusion -Kind 'path' -Value 'C:\x' -Present $true
    $found = @(Get-DefenderExclusion -Kind 'path')
    Assert-That -Name 'an exclusion is listed after it was added' -Holds ($found -contains 'C:\x') -Detail $found
}

function Test-ProcessLife {
    param([string] $Source)
    $world = New-World -Source $Source
    Start-Deadline -Name 'processes' -Seconds 60
    $shell = Get-PowerShellPath
    Assert-That -Name 'the shell of the machine is one that is there' -Holds ([IO.File]::Exists($shell))
    $native = Start-Native -Program 'sh' -ArgumentLine '-c "sleep 600"'
    Stop-ProcessTree -Process $native.process
    $holds = $native.process.WaitForExit(10000)
    Assert-That -Name 'a program is ended with what it started' -Holds $holds
    Set-Simulation -Area 'packages' -Name 'one.msi' -Value 'C:\one.exe'
    # As the resource gives it: a path that programs know.
    $package = "$world/C/one.msi"
    Set-Simulation -Area 'os' -Name 'busyInstaller' -Value 1
    $turns = @(foreach ($turn in 1, 2) { Install-Msi -Package $package -Log "$package.log" -Arguments @('A=b c') })
    $told = $turns -join ' '
    Assert-That -Name 'one package is installed at a time' -Holds ($told -eq 'busy installed') -Detail $told
    $holds = [IO.File]::Exists("$world/C/one.exe") -and [IO.File]::Exists("$package.log")
    Assert-That -Name 'a package leaves what it installs' -Holds $holds
    $said = Get-Refusal -Block {
        Set-Simulation -Area 'fails' -Name 'Invoke-ScriptText' -Value 'once'
        Invoke-ScriptText -Text 'throw'
    }
    Assert-That -Name 'the script that fails says why' -Holds $said.Contains('failure of') -Detail $said
    Set-Simulation -Area 'policy' -Name 'execution' -Value 'AllSigned'
    $found = Get-ChildPolicy
    Assert-That -Name 'a process that is started keeps AllSigned' -Holds ($found -eq 'AllSigned') -Detail $found
}

# What the machine answers: logs, pages, tasks of SYSTEM.
function Test-MachineAnswer {
    param([string] $Source)
    $null = New-World -Source $Source
    Write-EventLine -Text 'of a law'
    $found = Get-Simulation -Area 'os' -Name 'event'
    Assert-That -Name 'an error is in the log of the machine' -Holds ($found -ceq 'of a law') -Detail $found
    $found = Get-UrlText -Url 'http://127.0.0.1:9/none'
    Assert-That -Name 'a page that does not answer is nothing' -Holds ($null -eq $found) -Detail $found
    Set-Task -Name 'daily' -Program 'C:\a.exe' -ArgumentLine 'b' -Trigger 'daily' -Enabled $true
    $found = Get-Task -Name 'daily'
    $told = "$($found.program) $($found.argumentLine) $($found.trigger) $($found.enabled)"
    $holds = $told -eq 'C:\a.exe b daily True'
    Assert-That -Name 'a task is the one that was made' -Holds $holds -Detail $told
    $ran = @{ exitCode = 42; output = '' }
    Set-Simulation -Area 'programs' -Name 'C:\a.exe /x' -Value $ran
    $code = Invoke-AsSystem -Program 'C:\a.exe' -ArgumentLine '/x'
    Assert-That -Name 'a program of SYSTEM has its exit code' -Holds ($code -eq 42) -Detail $code
}

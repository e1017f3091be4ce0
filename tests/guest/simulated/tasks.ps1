# Tasks of Task Scheduler.

function Invoke-AsSystem {
    [CmdletBinding()]
    param([string] $Program, [string] $ArgumentLine)
    (Invoke-Program -Program $Program -Arguments @($ArgumentLine)).exitCode
}

function Get-Task {
    [CmdletBinding()]
    param([string] $Name)
    Get-Simulation -Area 'tasks' -Name $Name
}

function Set-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program, [string] $ArgumentLine, [string] $Trigger, [bool] $Enabled)
    Confirm-Simulation -Ability 'Set-Task'
    if ($null -ne (Get-Simulation -Area 'os' -Name 'noTasks')) { throw 'Access is denied' }
    $task = @{ program = $Program; argumentLine = $ArgumentLine; trigger = $Trigger; enabled = $Enabled }
    Set-Simulation -Area 'tasks' -Name $Name -Value $task
}

# A program that the state does not know goes on; one that it knows has ended with its exit code.
function Start-Task {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Start-Task'
    $task = Get-Task -Name $Name
    if ($null -eq $task) { throw "there is no task $Name" }
    Set-Simulation -Area 'turns' -Name $Name -Value (1 + [int](Get-Simulation -Area 'turns' -Name $Name))
    $line = "$($task.program) $($task.argumentLine)".Trim()
    $known = Get-Simulation -Area 'programs' -Name $line
    if ($null -eq $known) { Set-Simulation -Area 'running' -Name $Name -Value 'task' }
}

function Stop-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program)
    if (-not $Program) { throw "$Name has a program" }
    if ($null -eq (Get-Task -Name $Name)) { throw "there is no task $Name" }
    Set-Simulation -Area 'running' -Name $Name -Value $null
}

function Remove-Task {
    [CmdletBinding()]
    param([string] $Name)
    if ($null -eq (Get-Task -Name $Name)) { throw "there is no task $Name" }
    Set-Simulation -Area 'tasks' -Name $Name -Value $null
}

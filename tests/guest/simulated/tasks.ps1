# Tasks of Task Scheduler.

function Invoke-AsSystem {
    [CmdletBinding()]
    param([string] $Program, [string] $ArgumentLine)
    (Invoke-Program -Program $Program -Arguments @($ArgumentLine)).exitCode
}

# schtasks /create /xml, which hands the text over as UTF-16 and refuses another declared encoding.
function Invoke-TaskProgram {
    [CmdletBinding()]
    param([string[]] $Arguments)
    $file = $Arguments[1 + [array]::IndexOf($Arguments, '/xml')]
    $text = [IO.File]::ReadAllText((Resolve-NativePath -Path $file))
    if ($text -match '^<\?xml[^>]* encoding="(?!utf-16)') {
        return @{ exitCode = 1; output = '(1,40)::ERROR: unable to switch the encoding' }
    }
    $name = $Arguments[1 + [array]::IndexOf($Arguments, '/tn')]
    $action = ([xml]$text).Task.Actions.Exec
    $task = @{ program = "$($action.Command)"; argumentLine = "$($action.Arguments)"; trigger = 'none' }
    if (([xml]$text).Task.Triggers['BootTrigger']) { $task.trigger = 'startup' }
    $task.enabled = $true
    Set-Simulation -Area 'tasks' -Name $name -Value $task
    @{ exitCode = 0; output = 'SUCCESS' }
}

# Hour of the day at which a daily task starts where the zone is some hours east of UTC. A boundary that ends with
# Z is a moment of UTC.
function Get-StartHour {
    [CmdletBinding()]
    param([string] $Boundary, [int] $Zone)
    $hour = [int]$Boundary.Substring(11, 2)
    if ($Boundary.EndsWith('Z')) { $hour += $Zone }
    ($hour + 24) % 24
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
    # Some time later, which no reader of a task sees.
    if ($Trigger -eq 'afterStartup') { $Trigger = 'startup' }
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

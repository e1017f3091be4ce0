# Tasks of Task Scheduler.

# Settings of every task. By default Windows starts no task on batteries, and gives priority 7, which lowers the
# processor, disk and memory priority of everything that the task starts.
function Get-TaskSetting {
    [CmdletBinding()]
    param()
    $power = @{ AllowStartIfOnBatteries = $true; DontStopIfGoingOnBatteries = $true }
    $settings = New-ScheduledTaskSettingsSet @power -StartWhenAvailable -Priority 4 -ErrorAction Stop
    # As text: a time span of zero has come out as three days.
    $settings.ExecutionTimeLimit = 'PT0S'
    $settings
}

function Get-TaskPrincipal {
    [CmdletBinding()]
    param()
    $system = @{ UserId = 'S-1-5-18'; LogonType = 'ServiceAccount'; RunLevel = 'Highest' }
    New-ScheduledTaskPrincipal @system -ErrorAction Stop
}

# The update agent and wusa.exe refuse remote sessions: a task of SYSTEM is none. Gives the exit code.
function Invoke-AsSystem {
    [CmdletBinding()]
    param([string] $Program, [string] $ArgumentLine)
    $name = 'imagegen-as-system'
    $task = @{ Action = (New-ScheduledTaskAction -Execute $Program -Argument $ArgumentLine -ErrorAction Stop) }
    $task.Principal = Get-TaskPrincipal
    $task.Settings = Get-TaskSetting
    $null = Register-ScheduledTask -TaskName $name -TaskPath '\' -Force @task -ErrorAction Stop
    try {
        Start-ScheduledTask -TaskName $name -TaskPath '\' -ErrorAction Stop
        Wait-TaskResult -Name $name
    } finally {
        Unregister-ScheduledTask -TaskName $name -TaskPath '\' -Confirm:$false -ErrorAction Stop
    }
}

# Exit code of a task that was started. 267009: it runs; 267011: it has not run yet; 267045: it is queued.
function Wait-TaskResult {
    [CmdletBinding()]
    param([string] $Name)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $code = (Get-ScheduledTaskInfo -TaskName $Name -TaskPath '\' -ErrorAction Stop).LastTaskResult
        if ($code -notin 267009, 267011, 267045) { return $code }
        if ($code -ne 267009 -and $clock.Elapsed.TotalMinutes -ge 5) {
            throw "Task Scheduler has not started $Name within 5 minutes (result $code)"
        }
        $null = Get-TimeLeft -Doing "waiting for the task $Name"
        Start-Sleep -Seconds 1
    }
}

function Get-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    $task = Get-Existing -Absence 'CmdletizationQuery_NotFound' -Action {
        Get-ScheduledTask @place -ErrorAction Stop
    }
    if ($null -eq $task) { return $null }
    $action = @($task.Actions)[0]
    $trigger = 'none'
    foreach ($item in @($task.Triggers | Where-Object { $null -ne $_ })) {
        $names = @{ MSFT_TaskBootTrigger = 'startup'; MSFT_TaskDailyTrigger = 'daily' }
        $names.MSFT_TaskTimeTrigger = 'minutely'
        $trigger = $names[$item.CimClass.CimClassName]
    }
    $found = @{ program = $action.Execute; argumentLine = "$($action.Arguments)"; trigger = $trigger }
    $found.enabled = "$($task.State)" -ne 'Disabled'
    $found
}

# When a task starts, nothing for one that others start. A time has no zone: it is that of the machine, also on a
# clone elsewhere (dsccommunity/ComputerManagementDsc@17e10f3 DSC_ScheduledTask.psm1). It is long past, because the
# clock of a clone may be behind the build's. What repeats does so after a restart, too, and never a second time
# while it runs. What starts after the start of Windows finds a network.
function New-TaskTrigger {
    [CmdletBinding()]
    param([string] $Kind)
    $trigger = switch ($Kind) {
        'startup' { New-ScheduledTaskTrigger -AtStartup -ErrorAction Stop }
        'afterStartup' { New-ScheduledTaskTrigger -AtStartup -ErrorAction Stop }
        'daily' { New-ScheduledTaskTrigger -Daily -At '03:00' -ErrorAction Stop }
        'minutely' {
            $again = @{ At = (Get-Date); RepetitionInterval = (New-TimeSpan -Minutes 1) }
            New-ScheduledTaskTrigger -Once @again -ErrorAction Stop
        }
    }
    if ($Kind -eq 'afterStartup') { $trigger.Delay = 'PT1M' }
    if ($Kind -in 'daily', 'minutely') { $trigger.StartBoundary = '2020-01-01T03:00:00' }
    $trigger
}

function Set-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program, [string] $ArgumentLine, [string] $Trigger, [bool] $Enabled)
    $action = @{ Execute = $Program }
    if ($ArgumentLine) { $action.Argument = $ArgumentLine }
    $task = @{ Action = (New-ScheduledTaskAction @action -ErrorAction Stop) }
    $task.Principal = Get-TaskPrincipal
    $task.Settings = Get-TaskSetting
    $when = New-TaskTrigger -Kind $Trigger
    if ($null -ne $when) { $task.Trigger = $when }
    $place = Split-TaskName -Name $Name
    $null = Register-ScheduledTask @place @task -Force -ErrorAction Stop
    if (-not $Enabled) { $null = Disable-ScheduledTask @place -ErrorAction Stop }
}

function Start-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    Start-ScheduledTask @place -ErrorAction Stop
}

# With the program that it started, which would outlive it.
function Stop-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program)
    $place = Split-TaskName -Name $Name
    Stop-ScheduledTask @place -ErrorAction Stop
    Get-Process | Where-Object { $_.Path -eq $Program } | Stop-Process -Force
}

function Remove-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    Unregister-ScheduledTask @place -Confirm:$false -ErrorAction Stop
}

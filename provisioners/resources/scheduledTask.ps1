# A task that runs as SYSTEM. Windows keeps its arguments as one line.
function Get-scheduledTaskResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $taskName, [string[]] $arguments = @())
    $task = Get-Task -Name $taskName
    if ($null -eq $task) { return @{ ensure = 'absent' } }
    $found = @($task.argumentLine)
    if ($task.argumentLine -ceq (Join-Argument -Arguments $arguments)) { $found = $arguments }
    @{
        ensure = 'present'
        program = $task.program
        arguments = @($found)
        trigger = $task.trigger
        enabled = $task.enabled
    }
}

function Set-scheduledTaskResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $taskName, [Parameter(Mandatory)] [string] $ensure,
        [string] $program, [string[]] $arguments = @(), [string] $trigger = 'none', [bool] $enabled = $true)
    if ($ensure -eq 'absent') { return Remove-Task -Name $taskName }
    $task = @{ Program = $program; ArgumentLine = (Join-Argument -Arguments $arguments) }
    Set-Task -Name $taskName -Trigger $trigger -Enabled $enabled @task
}

# The states of an installation on a machine that is there already, and the restarts between them. Loaded by
# Install.ps1, which sets $script:Log, the file of every line, and $script:Task, the task after a restart.

# Text for whoever watches, also in a remote session, which does not carry what is written to the console
# (https://github.com/PowerShell/PowerShell/issues/20054).
function Write-Told {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    Write-Information -MessageData $Text -InformationAction Continue
}

# Keeps a second installer out while this one is at work: a task may start one beside that of a person. Windows
# removes the file with its handle, however the process ends.
function Lock-Installation {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Folder)
    try {
        [IO.File]::Create("$Folder/install.lock", 1, [IO.FileOptions]::DeleteOnClose)
    } catch {
        throw "another installation is at work in ${Folder}: $($_.Exception.GetBaseException().Message)"
    }
}

# How far it has come with this plan; from the beginning where that is another one.
function Read-Progress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $PlanDigest)
    $start = [ordered]@{
        schema = 'imagegen.dev/install/v1'
        plan = $PlanDigest
        state = 'prepare'
        restarts = 0
        exitCode = 0
        error = ''
    }
    if (-not [IO.File]::Exists($Path)) { return $start }
    $text = [IO.File]::ReadAllText($Path)
    # A power cut can leave its name and not its bytes.
    if ($text -cnotmatch '\A\{[^\0]*\}\s*\z') { return $start }
    $known = $text | ConvertFrom-Json
    if ($known.schema -cne $start.schema -or $known.plan -cne $PlanDigest) { return $start }
    foreach ($name in 'state', 'restarts') { $start[$name] = $known.$name }
    $start
}

# A phase of the plan; its outcome as the engine tells it. Every line goes to the log as well.
function Invoke-Part {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Phase, [Parameter(Mandatory)] [string] $Mode,
        [Parameter(Mandatory)] [string] $Destination, [Parameter(Mandatory)] [string] $Platform)
    $arguments = @{ Phase = $Phase; Mode = $Mode; Platform = $Platform }
    $last = ''
    & "$Destination/engine/Invoke-Plan.ps1" @arguments 6>&1 | ForEach-Object {
        $last = "$_"
        Add-LogLine -Path $script:Log -Line "$last`r"
        Write-Told -Text $last
    }
    $outcome = @{ code = $LASTEXITCODE; restart = $false; error = "phase $Phase ended with $LASTEXITCODE" }
    if ($last.StartsWith('{')) {
        $told = $last | ConvertFrom-Json
        $outcome.restart = $told.restart
        if ($told.error) { $outcome.error = $told.error }
    }
    $outcome
}

# The parts of a state, in their order, and the state after it.
$script:States = @{
    prepare = @{ parts = @('bootstrap', 'prepare'); next = 'install' }
    install = @{ parts = @('install'); next = 'finish' }
    finish = @{ parts = @('test', 'seal'); next = 'done' }
}

# Runs states until nothing is left, something fails or a restart is due. A state that asked for a restart is run
# again after it, until it asks no more: features and updates may come in several turns.
function Invoke-Install {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Progress, [Parameter(Mandatory)] [string] $Destination,
        [Parameter(Mandatory)] [string] $Platform)
    while ($Progress.state -ne 'done') {
        $state = $script:States[$Progress.state]
        $restart = $false
        foreach ($part in $state.parts) {
            $mode = 'apply'
            if ($part -eq 'test') { $mode = 'test' }
            $outcome = Invoke-Part -Phase $part -Mode $mode -Destination $Destination -Platform $Platform
            if ($outcome.code -ne 0) {
                $Progress.exitCode = $outcome.code
                $Progress.error = $outcome.error
                # What has drifted since it was set is set again by the next run.
                if ($outcome.code -eq 8) { $Progress.state = 'prepare' }
                return
            }
            $restart = $restart -or $outcome.restart
        }
        if ($restart) {
            $Progress.restarts++
            $Progress.exitCode = 3010
            if ($Progress.restarts -gt 10) {
                $Progress.exitCode = 1
                $Progress.error = "state $($Progress.state) wants one restart after the other"
                # Somebody who has found the reason begins to count anew.
                $Progress.restarts = 0
            }
            return
        }
        $Progress.state = $state.next
        $Progress.restarts = 0
    }
}

# After a restart Windows goes on by this task.
function Register-Continuation {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Destination)
    $line = "-NoProfile -NonInteractive -ExecutionPolicy $(Get-ChildPolicy) -File `"$Destination\Install.ps1`""
    # Its own work has taken space since the check.
    $line += ' -MinimumFreeGB 1'
    $start = @{ Program = (Get-PowerShellPath); ArgumentLine = $line; Trigger = 'afterStartup'; Enabled = $true }
    Set-Task -Name $script:Task @start
    if ($null -eq (Get-Task -Name $script:Task)) { throw "the task $($script:Task) was not registered" }
}

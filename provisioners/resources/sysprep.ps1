# The generalised system. Sysprep ends before the state is written, so the state is waited for.
function Get-sysprepResource {
    [CmdletBinding()]
    param()
    @{ imageState = (Get-ImageState) }
}

function Set-sysprepResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $imageState, [Parameter(Mandatory)] [string] $unattend,
        [Parameter(Mandatory)] [string] $finish, [object[]] $agents = @())
    if ($finish -notin 'quit', 'shutdown') { throw "Sysprep cannot finish with $finish" }
    $isAlone = $agents.Count -eq 0
    if ($isAlone -and -not (Test-Path -LiteralPath $unattend -PathType Leaf)) {
        throw "there is no answer file $unattend"
    }
    $before = @(Get-SysprepLine).Count
    try {
        if ($isAlone) { Invoke-Sysprep -Unattend $unattend -Finish $finish }
        else { Invoke-SealAgent -Agents $agents }
        Wait-ImageState -State $imageState
    } catch {
        throw "$($_.Exception.Message)`n$(Get-SysprepError -Before $before)"
    }
}

# Until Windows has the state. Sysprep that refuses ends and leaves the state as it was
# (https://github.com/actions/runner-images/issues/14499), so two minutes without Sysprep are the end.
function Wait-ImageState {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $State)
    $ended = [Diagnostics.Stopwatch]::StartNew()
    while ((Get-ImageState) -cne $State) {
        $null = Get-TimeLeft -Doing "waiting for $State, the state is $(Get-ImageState)"
        if (Test-SysprepRunning) { $ended.Restart() }
        if ($ended.Elapsed.TotalSeconds -ge 120) { throw "Sysprep has ended, and the state is $(Get-ImageState)" }
        Start-Sleep -Seconds 1
    }
}

# The platform's own program runs Sysprep, with its own answer file.
function Invoke-SealAgent {
    [CmdletBinding()]
    param([object[]] $Agents)
    $present = @($Agents | Where-Object { Test-Path -LiteralPath $_.file -PathType Leaf })
    if ($present.Count -eq 0) {
        $names = @($Agents | ForEach-Object { $_.name }) -join ', '
        throw "the machine has none of the agents that seal it: $names"
    }
    foreach ($command in @($present[0].commands)) {
        $ran = Invoke-Program -Program $command.program -Arguments @($command.arguments)
        $said = "$($command.program) exited with $($ran.exitCode): $($ran.output.Trim())"
        if ($ran.exitCode -ne 0) { throw $said }
    }
}

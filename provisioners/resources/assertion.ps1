# Something that must hold. There is no way to set it: Set says what was found, and waits for a service while there
# is time, because agents of platforms start late and restart themselves.
function Get-assertionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $check, [Parameter(Mandatory)] [bool] $holds, [string] $program,
        [string[]] $arguments = @(), [string] $pattern, [string] $serviceName, [string[]] $alternatives = @(),
        [string] $state, [long] $build, [long] $revision)
    $found = 'unknown check'
    $met = $false
    if ($check -eq 'command') {
        $result = Invoke-Program -Program $program -Arguments $arguments
        $found = "$program exited with $($result.exitCode): $($result.output.Trim())"
        $met = $result.exitCode -eq 0 -and $result.output -cmatch $pattern
    } elseif ($check -eq 'service') {
        $states = @(foreach ($name in @($serviceName) + $alternatives) { Get-ServiceState -Name $name })
        $found = @($states | ForEach-Object { $_.text }) -join ', '
        # Without a state the service has to be there, in whichever state.
        $there = @($states | Where-Object { $_.state -ne 'absent' })
        $met = @($there | Where-Object { $_.state -eq $state -or $state -eq '' }).Count -gt 0
    } elseif ($check -eq 'osBuild') {
        $os = Get-OsBuild
        $found = "this is build $($os.build).$($os.revision)"
        $met = $os.build -eq $build -and $os.revision -ge $revision
    }
    if ($met -eq $holds) { return @{ holds = $holds } }
    @{ holds = $found }
}

function Get-ServiceState {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name)
    $service = Get-ServiceConfig -Name $Name
    if ($null -eq $service) { return @{ state = 'absent'; text = "there is no service $Name" } }
    @{ state = $service.state; text = "service $Name is $($service.state)" }
}

function Set-assertionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $check, [Parameter(Mandatory)] [bool] $holds, [string] $program,
        [string[]] $arguments = @(), [string] $pattern, [string] $serviceName, [string[]] $alternatives = @(),
        [string] $state, [long] $build, [long] $revision)
    while ($true) {
        $found = (Get-assertionResource @PSBoundParameters).holds
        if ($found -is [bool]) { return }
        if ($check -ne 'service') { throw "does not hold: $found" }
        $null = Get-TimeLeft -Doing "waiting, does not hold: $found"
        Start-Sleep -Seconds 1
    }
}

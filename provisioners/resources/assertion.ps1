# Something that must hold. There is no way to set it: Set says what was found.
function Get-assertionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $check, [Parameter(Mandatory)] [bool] $holds, [string] $program,
        [string[]] $arguments = @(), [string] $pattern, [string] $serviceName, [string] $state, [long] $build,
        [long] $revision)
    $found = 'unknown check'
    $met = $false
    if ($check -eq 'command') {
        $result = Invoke-Program -Program $program -Arguments $arguments
        $found = "$program exited with $($result.exitCode): $($result.output.Trim())"
        $met = $result.exitCode -eq 0 -and $result.output -cmatch $pattern
    } elseif ($check -eq 'service') {
        $service = Get-ServiceConfig -Name $serviceName
        $found = "there is no service $serviceName"
        if ($null -ne $service) { $found = "service $serviceName is $($service.state)" }
        $met = $null -ne $service -and $service.state -eq $state
    } elseif ($check -eq 'osBuild') {
        $os = Get-OsBuild
        $found = "this is build $($os.build).$($os.revision)"
        $met = $os.build -eq $build -and $os.revision -ge $revision
    }
    if ($met -eq $holds) { return @{ holds = $holds } }
    @{ holds = $found }
}

function Set-assertionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $check, [Parameter(Mandatory)] [bool] $holds, [string] $program,
        [string[]] $arguments = @(), [string] $pattern, [string] $serviceName, [string] $state, [long] $build,
        [long] $revision)
    throw "does not hold: $((Get-assertionResource @PSBoundParameters).holds)"
}

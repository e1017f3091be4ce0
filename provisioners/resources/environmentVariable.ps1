# A machine-wide environment variable. In the registry as text to expand, which is what Windows itself writes:
# [Environment]::SetEnvironmentVariable would turn it into plain text. Services see it after a restart.
function Get-environmentVariableResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $variable)
    $found = Get-RegistryValue -Key (Get-EnvironmentKey) -Name $variable
    if ($null -eq $found) { return @{ ensure = 'absent' } }
    # Plain text with a percent sign is never expanded: it is another value.
    if ($found.kind -ne 'ExpandString' -and "$($found.data)".Contains('%')) {
        return @{ ensure = 'present'; value = "$($found.kind) $($found.data)" }
    }
    @{ ensure = 'present'; value = $found.data }
}

function Set-environmentVariableResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $variable, [Parameter(Mandatory)] [string] $ensure, [string] $value)
    $key = Get-EnvironmentKey
    if ($ensure -eq 'absent') {
        Remove-RegistryValue -Key $key -Name $variable
    } else {
        Set-RegistryValue -Key $key -Name $variable -Kind 'ExpandString' -Data $value
    }
    'restart'
}

# A feature on demand.
function Get-windowsCapabilityResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $capability)
    @{ installed = (Test-Capability -Name $capability) }
}

function Set-windowsCapabilityResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $capability, [Parameter(Mandatory)] [bool] $installed)
    if (Set-Capability -Name $capability -Installed $installed) { 'restart' }
}

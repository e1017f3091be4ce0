# A role or feature of Windows Server. Most of them are there only after a restart.
function Get-windowsFeatureResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $feature)
    @{ installed = (Test-Feature -Name $feature) }
}

function Set-windowsFeatureResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $feature, [Parameter(Mandatory)] [bool] $installed)
    if (Set-Feature -Name $feature -Installed $installed) { 'restart' }
}

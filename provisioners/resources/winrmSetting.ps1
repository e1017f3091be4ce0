# A setting of Windows Remote Management, such as Service\Auth\Basic.
function Get-winrmSettingResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $setting)
    @{ value = (Get-WinrmSetting -Setting $setting) }
}

function Set-winrmSettingResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $setting, [Parameter(Mandatory)] [AllowEmptyString()] [string] $value)
    Set-WinrmSetting -Setting $setting -Value $value
}

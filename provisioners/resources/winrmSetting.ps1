# A setting of Windows Remote Management, such as Service\Auth\Basic.
function Get-winrmSettingResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $setting)
    @{ value = (Get-WinrmSetting -Setting $setting) }
}

# WinRM itself refuses settings on a network of the profile Public (0x80338169,
# https://github.com/PowerShell/PowerShell/issues/13654), and while it restarts: then through the registry, which
# it reads when it starts.
function Set-winrmSettingResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $setting, [Parameter(Mandatory)] [AllowEmptyString()] [string] $value)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    try {
        Set-WinrmSetting -Setting $setting -Value $value
        return
    } catch {
        $why = $_.Exception.Message
    }
    Write-Setback -Text "$setting is set through the registry, because WinRM refused it: $why"
    $place = Get-WinrmValueName -Setting $setting
    Set-RegistryValue @place -Kind 'DWord' -Data ([int]($value -eq 'true'))
    Wait-ServiceState -Name 'WinRM' -State 'stopped'
    Wait-ServiceState -Name 'WinRM' -State 'running'
    $found = Get-WinrmSetting -Setting $setting
    if ($found -cne $value) { throw "$setting stays ${found}: $why" }
}

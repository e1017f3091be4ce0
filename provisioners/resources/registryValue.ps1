# A registry value. Binary data is lower-case hexadecimal text.
function Get-registryValueResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $key, [Parameter(Mandatory)] [AllowEmptyString()] [string] $valueName)
    $value = Get-RegistryValue -Key $key -Name $valueName
    if ($null -eq $value) { return @{ ensure = 'absent' } }
    @{ ensure = 'present'; kind = $value.kind; data = $value.data }
}

function Set-registryValueResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $key, [Parameter(Mandatory)] [AllowEmptyString()] [string] $valueName,
        [Parameter(Mandatory)] [string] $ensure, [string] $kind, $data)
    if ($ensure -eq 'absent') {
        Remove-RegistryValue -Key $key -Name $valueName
    } else {
        Set-RegistryValue -Key $key -Name $valueName -Kind $kind -Data $data
    }
}

# A registry value. Binary data is hexadecimal text, whose letters a plan may write in either case.
function Get-registryValueResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $key, [Parameter(Mandatory)] [AllowEmptyString()] [string] $valueName,
        $data)
    $value = Get-RegistryValue -Key $key -Name $valueName
    if ($null -eq $value) { return @{ ensure = 'absent' } }
    if ($value.kind -eq 'Binary' -and $value.data -eq "$data") { $value.data = $data }
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

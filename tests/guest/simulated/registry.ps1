# The registry of the machine.

function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    Get-Simulation -Area 'registry' -Name "$Key!$Name"
}

function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    Confirm-Simulation -Ability 'Set-RegistryValue'
    switch -CaseSensitive ($Kind) {
        'DWord' { $null = [uint32]$Data }
        'QWord' { $null = [uint64]$Data }
        'Binary' { $null = ConvertFrom-Hex -Text $Data }
        'MultiString' {
            $Data = @($Data)
            if (@($Data | Where-Object { $null -eq $_ }).Count -gt 0) { throw 'a member of a list is null' }
        }
        'String' { $Data = [string]$Data }
        'ExpandString' { $Data = [string]$Data }
        default { throw "the registry has no values of kind $Kind" }
    }
    Set-Simulation -Area 'registry' -Name "$Key!$Name" -Value @{ kind = $Kind; data = $Data }
}

function Remove-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    Confirm-Simulation -Ability 'Remove-RegistryValue'
    if ($null -eq (Get-RegistryValue -Key $Key -Name $Name)) { throw "$Key has no value $Name" }
    Set-Simulation -Area 'registry' -Name "$Key!$Name" -Value $null
}

function Get-EnvironmentKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
}

function Get-MemoryKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
}

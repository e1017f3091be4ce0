# Exclusions of Microsoft Defender.

function Test-Defender {
    [CmdletBinding()]
    param()
    $off = Get-RegistryValue -Key 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender' -Name 'DisableAntiSpyware'
    $isOff = $null -ne $off -and $off.data -eq 1
    -not $isOff -and $null -eq (Get-Simulation -Area 'os' -Name 'noDefender')
}

function Get-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind)
    if (-not (Test-Defender)) { throw 'Get-MpPreference is not recognized' }
    if ($null -ne (Get-Simulation -Area 'os' -Name 'hidesExclusions')) {
        return 'N/A: Administrators are not allowed to view exclusions'
    }
    $values = Get-Simulation -Area 'defender' -Name $Kind
    if ($null -ne $values) { $values | ForEach-Object { $_ } }
}

function Set-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind, [string] $Value, [bool] $Present)
    Confirm-Simulation -Ability 'Set-DefenderExclusion'
    # A list comes as one object, which a pipeline would not take apart.
    $values = Get-Simulation -Area 'defender' -Name $Kind
    $values = @($values | Where-Object { $_ -and $_ -ne $Value })
    if ($Present) { $values += $Value }
    Set-Simulation -Area 'defender' -Name $Kind -Value $values
}

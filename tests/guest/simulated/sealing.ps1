# Sysprep and the state of the image.

function Get-ImageState {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'imageState'
}

# An answer file that holds `hangs` never gets the image generalised. Certificates stay, and lose their private
# keys.
function Invoke-Sysprep {
    [CmdletBinding()]
    param([string] $Unattend, [string] $Finish)
    Confirm-Simulation -Ability 'Invoke-Sysprep'
    if ([IO.File]::ReadAllText((Resolve-NativePath -Path $Unattend)).Contains('hangs')) { return }
    # Sysprep that refuses ends, and says why in its log alone.
    if ((Get-Simulation -Area 'os' -Name 'sealing') -eq 'refused') {
        return Set-Simulation -Area 'os' -Name 'setuperr' -Value 'SYSPRP 0x80073cf2'
    }
    Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    Clear-Simulation -Area 'keys'
}

function Test-SysprepRunning {
    [CmdletBinding()]
    param()
    $null -ne (Get-Simulation -Area 'os' -Name 'sysprep')
}

function Get-SysprepError {
    [CmdletBinding()]
    param()
    $reason = Get-Simulation -Area 'os' -Name 'setuperr'
    if ($null -eq $reason) { 'last line of setuperr.log' } else { $reason }
}

# Sysprep and the state of the image.

function Get-ImageState {
    [CmdletBinding()]
    param()
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State'
    $value = Get-RegistryValue -Key $key -Name 'ImageState'
    if ($null -ne $value) { $value.data }
}

function Invoke-Sysprep {
    [CmdletBinding()]
    param([string] $Unattend, [string] $Finish)
    $program = "$script:System32\Sysprep\Sysprep.exe"
    # No /mode:vm, which keeps what was found of the hardware for copies on the same hypervisor: an image may start
    # on bare metal or on another one.
    $line = "/oobe /generalize /quiet /$Finish /unattend:`"$Unattend`""
    $null = Invoke-Native -Program $program -ArgumentLine $line
}

function Test-SysprepRunning {
    [CmdletBinding()]
    param()
    $found = Get-Existing -Absence 'NoProcessFoundForGivenName' -Action {
        Get-Process -Name 'Sysprep' -ErrorAction Stop
    }
    $null -ne $found
}

# What Sysprep says went wrong, in this run and in those before it.
function Get-SysprepLine {
    [CmdletBinding()]
    param()
    $log = "$script:System32\Sysprep\Panther\setuperr.log"
    if (Test-Path -LiteralPath $log) { Get-Content -LiteralPath $log }
}

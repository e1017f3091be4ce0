# Listeners and settings of WinRM.

function Test-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $null -ne (Get-Simulation -Area 'listeners' -Name $Transport)
}

# A listener is the thumbprint of its certificate, which is in the area machineCertificates; its private key is in
# the area keys, until Sysprep takes it. A listener of HTTP has neither.
function New-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Confirm-Simulation -Ability 'New-WinrmListener'
    if (Test-WinrmListener -Transport $Transport) { throw "there is a listener for $Transport already" }
    if ($Transport -eq 'HTTP') { return Set-Simulation -Area 'listeners' -Name $Transport -Value '' }
    Set-Simulation -Area 'listeners' -Name $Transport -Value 'A1B2'
    Set-Simulation -Area 'machineCertificates' -Name 'A1B2' -Value 'self-signed'
    Set-Simulation -Area 'keys' -Name 'A1B2' -Value 'private'
}

function Get-ListenerThumbprint {
    [CmdletBinding()]
    param([string] $Transport)
    Get-Simulation -Area 'listeners' -Name $Transport
}

function Remove-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Confirm-Simulation -Ability 'Remove-WinrmListener'
    Set-Simulation -Area 'listeners' -Name $Transport -Value $null
}

function Test-BuildCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint)
    (Get-Simulation -Area 'machineCertificates' -Name $Thumbprint) -eq 'self-signed'
}

# The certificate goes first, and a key that is not there is an error after that.
function Remove-MachineCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint, [bool] $WithKey)
    Confirm-Simulation -Ability 'Remove-MachineCertificate'
    Set-Simulation -Area 'machineCertificates' -Name $Thumbprint -Value $null
    if (-not $WithKey) { return }
    if ($null -eq (Get-Simulation -Area 'keys' -Name $Thumbprint)) { throw 'Keyset does not exist' }
    Set-Simulation -Area 'keys' -Name $Thumbprint -Value $null
}

function Get-WinrmValueName {
    [CmdletBinding()]
    param([string] $Setting)
    @{ Key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Service'; Name = $Setting }
}

# What a Group Policy says of a setting.
function Get-WinrmPolicy {
    [CmdletBinding()]
    param([string] $Setting)
    $names = @{ 'Service\Auth\Basic' = 'AllowBasic'; 'Service\Auth\CredSSP' = 'AllowCredSSP' }
    $names['Service\AllowUnencrypted'] = 'AllowUnencryptedTraffic'
    $key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WinRM\Service'
    Get-RegistryValue -Key $key -Name $names[$Setting]
}

# All settings are off unless a policy or the registry says otherwise.
function Get-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting)
    $value = Get-WinrmPolicy -Setting $Setting
    $place = Get-WinrmValueName -Setting $Setting
    if ($null -eq $value) { $value = Get-RegistryValue @place }
    if ($null -eq $value -or $value.data -eq 0) { 'false' } else { 'true' }
}

# On a network of the profile Public WinRM takes no setting, nor one that a policy holds. What it takes it writes
# into the registry.
function Set-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting, [string] $Value)
    Confirm-Simulation -Ability 'Set-WinrmSetting'
    if ((Get-Simulation -Area 'os' -Name 'network') -eq 'Public') { throw 'WinRM firewall exception (0x80338169)' }
    if ($null -ne (Get-WinrmPolicy -Setting $Setting)) { throw 'The setting is controlled by use of policies' }
    $place = Get-WinrmValueName -Setting $Setting
    Set-RegistryValue @place -Kind 'DWord' -Data ([int]($Value -eq 'true'))
}

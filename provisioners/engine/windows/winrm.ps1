# Listeners and settings of WinRM.

# Where WinRM keeps its configuration. While the service does not run, the drive WSMan: offers to start it, and
# throws under strict mode (https://github.com/PowerShell/PowerShell/issues/11742).
$script:Wsman = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN'
$script:WinrmPolicy = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WinRM\Service'

function Test-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $null -ne (Open-RegistryKey -Key "$script:Wsman\Listener\*+$Transport")
}

# HTTPS gets a certificate of this machine's own: it ends with the build.
function New-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $listener = @{
        ResourceURI = 'winrm/config/Listener'
        SelectorSet = @{ Address = '*'; Transport = $Transport }
    }
    if ($Transport -eq 'HTTPS') {
        $store = 'Cert:\LocalMachine\My'
        $certificate = New-SelfSignedCertificate -DnsName $env:COMPUTERNAME -CertStoreLocation $store
        $listener.ValueSet = @{ CertificateThumbprint = $certificate.Thumbprint }
    }
    $null = New-WSManInstance @listener
}

# Of the listener's certificate, nothing where it has none.
function Get-ListenerThumbprint {
    [CmdletBinding()]
    param([string] $Transport)
    $found = Get-RegistryValue -Key "$script:Wsman\Listener\*+$Transport" -Name 'certThumbprint'
    if ($null -ne $found) { "$($found.data)".Replace(' ', '') }
}

# Through WinRM, because it holds the port; a service that is disabled reads its keys no more.
function Remove-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Get-ChildItem -Path 'WSMan:\localhost\Listener' -ErrorAction Stop |
        Where-Object { $_.Keys -contains "Transport=$Transport" } |
        Remove-Item -Recurse -Force -ErrorAction Stop
}

# Whether the machine has such a certificate, and its own subject issued it.
function Test-BuildCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint)
    $all = @(Get-ChildItem -LiteralPath 'Cert:\LocalMachine\My' -ErrorAction Stop)
    $own = @($all | Where-Object { $_.Thumbprint -eq $Thumbprint -and $_.Subject -eq $_.Issuer })
    $own.Count -gt 0
}

# The provider removes the certificate first, and throws then where it finds no key (PowerShell/PowerShell@9299036
# src/Microsoft.PowerShell.Security/security/CertificateProvider.cs, DoDeleteKey).
function Remove-MachineCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint, [bool] $WithKey)
    $key = @{}
    if ($WithKey) { $key.DeleteKey = $true }
    Remove-Item -LiteralPath "Cert:\LocalMachine\My\$Thumbprint" @key -ErrorAction Stop
}

# Key and name of a setting in the registry.
function Get-WinrmValueName {
    [CmdletBinding()]
    param([string] $Setting)
    # Whole names: the client has settings of the same last word.
    $names = @{ 'Service\Auth\Basic' = 'auth_basic'; 'Service\Auth\CredSSP' = 'auth_credssp' }
    $names['Service\AllowUnencrypted'] = 'allow_unencrypted'
    $name = $names[$Setting]
    if (-not $name) { throw "the setting $Setting of WinRM has no name in the registry here" }
    @{ Key = "$script:Wsman\Service"; Name = $name }
}

# A Group Policy overrules WinRM's own configuration (WindowsRemoteManagement.admx).
function Get-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting)
    $place = Get-WinrmValueName -Setting $Setting
    $policies = @{ auth_basic = 'AllowBasic'; auth_credssp = 'AllowCredSSP' }
    $policies.allow_unencrypted = 'AllowUnencryptedTraffic'
    $value = Get-RegistryValue -Key $script:WinrmPolicy -Name $policies[$place.Name]
    if ($null -eq $value) { $value = Get-RegistryValue @place }
    # All three are off unless the registry says otherwise.
    if ($null -eq $value -or $value.data -eq 0) { 'false' } else { 'true' }
}

function Set-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting, [string] $Value)
    Set-Item -LiteralPath "WSMan:\localhost\$Setting" -Value $Value -Force -ErrorAction Stop
}

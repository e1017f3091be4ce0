# Listeners and settings of WinRM.

# Where WinRM keeps its configuration. While the service does not run, the drive WSMan: offers to start it, and
# throws under strict mode (https://github.com/PowerShell/PowerShell/issues/11742).
$script:Wsman = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN'

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
    Wait-ServiceState -Name 'WinRM' -State 'running'
    if ($Transport -eq 'HTTPS') {
        $store = 'Cert:\LocalMachine\My'
        $certificate = New-SelfSignedCertificate -DnsName $env:COMPUTERNAME -CertStoreLocation $store
        $listener.ValueSet = @{ CertificateThumbprint = $certificate.Thumbprint }
    }
    $null = New-WSManInstance @listener
}

# Through WinRM where it runs, because it holds the port; a service that is disabled reads its keys no more.
function Remove-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    $thumbprint = Get-RegistryValue -Key "$script:Wsman\Listener\*+$Transport" -Name 'certThumbprint'
    Get-ChildItem -Path 'WSMan:\localhost\Listener' |
        Where-Object { $_.Keys -contains "Transport=$Transport" } |
        Remove-Item -Recurse -Force
    if ($null -ne $thumbprint) { Remove-BuildCertificate -Thumbprint $thumbprint.data }
}

# The build's certificate is one that its own subject issued. Its private key would stay through Sysprep.
function Remove-BuildCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint)
    $path = "Cert:\LocalMachine\My\$($Thumbprint.Replace(' ', ''))"
    $certificate = Get-Item -LiteralPath $path -ErrorAction SilentlyContinue
    if ($null -eq $certificate -or $certificate.Subject -ne $certificate.Issuer) { return }
    $key = @{ DeleteKey = $true }
    Remove-Item -LiteralPath $path @key
}

function Get-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting)
    $names = @{ Basic = 'auth_basic'; CredSSP = 'auth_credssp'; AllowUnencrypted = 'allow_unencrypted' }
    $name = $names[$Setting.Split('\')[-1]]
    if (-not $name) { throw "the setting $Setting of WinRM has no name in the registry here" }
    $value = Get-RegistryValue -Key "$script:Wsman\Service" -Name $name
    # All three are off unless the registry says otherwise.
    if ($null -eq $value -or $value.data -eq 0) { 'false' } else { 'true' }
}

function Set-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting, [string] $Value)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    Set-Item -LiteralPath "WSMan:\localhost\$Setting" -Value $Value -Force
}

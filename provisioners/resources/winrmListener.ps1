# A listener of Windows Remote Management, on all addresses.
function Get-winrmListenerResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $transport)
    if (Test-WinrmListener -Transport $transport) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

# The certificate goes before its listener, which alone says which one it is.
function Set-winrmListenerResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $transport, [Parameter(Mandatory)] [string] $ensure)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    if ($ensure -eq 'present') {
        New-WinrmListener -Transport $transport
        return
    }
    $thumbprint = Get-ListenerThumbprint -Transport $transport
    if ($thumbprint) { Remove-BuildCertificate -Thumbprint $thumbprint }
    Remove-WinrmListener -Transport $transport
}

# The build's certificate is one that its own subject issued. Sysprep keeps certificates and takes their private
# keys (https://github.com/dsccommunity/CertificateDsc/issues/129), so that there may be no key to remove: what
# counts is that the certificate is gone.
function Remove-BuildCertificate {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Thumbprint)
    if (-not (Test-BuildCertificate -Thumbprint $Thumbprint)) { return }
    try {
        Remove-MachineCertificate -Thumbprint $Thumbprint -WithKey $true
    } catch {
        Write-Setback -Text "the private key of the build's certificate: $($_.Exception.Message)"
    }
    if (Test-BuildCertificate -Thumbprint $Thumbprint) {
        Remove-MachineCertificate -Thumbprint $Thumbprint -WithKey $false
    }
}

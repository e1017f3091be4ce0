# Opens WinRM over HTTPS for Packer, with a certificate that this machine makes. It holds no secret.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
Set-Service -Name 'WinRM' -StartupType 'Automatic'
Start-Service -Name 'WinRM'
$store = 'Cert:\LocalMachine\My'
$certificate = New-SelfSignedCertificate -DnsName ([Net.Dns]::GetHostName()) -CertStoreLocation $store
$listeners = 'WSMan:\localhost\Listener'
Get-ChildItem -LiteralPath $listeners | Where-Object { $_.Keys -contains 'Transport=HTTPS' } |
    Remove-Item -Recurse -Force
$listener = @{ Path = $listeners; Transport = 'HTTPS'; Address = '*'; Force = $true }
$listener.CertificateThumbPrint = $certificate.Thumbprint
$null = New-Item @listener
$rule = @{ DisplayName = 'WinRM of the image build'; Direction = 'Inbound'; Action = 'Allow'; Profile = 'Any' }
$null = New-NetFirewallRule @rule -Protocol 'TCP' -LocalPort 5986 -ErrorAction Stop

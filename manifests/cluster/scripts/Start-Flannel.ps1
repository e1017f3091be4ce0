<#
.SYNOPSIS
    Writes the CNI configuration of flannel on the host and starts flanneld there.
.DESCRIPTION
    Runs in a HostProcess container, or in an ordinary one that reaches the host through wins.
.EXAMPLE
    Start-Flannel.ps1 -Config C:\config -HostConfig C:\config -Program C:\k\flannel\flanneld.exe
#>
[CmdletBinding()]
param(
    # Folder with the configuration files, as this container sees it.
    [Parameter(Mandatory)] [string] $Config,
    # The same folder as the host sees it.
    [Parameter(Mandatory)] [string] $HostConfig,
    # Where the host's folders are mounted; empty in a HostProcess container.
    [string] $HostRoot = '',
    # May name variables of the environment, such as %CONTAINER_SANDBOX_MOUNT_POINT%.
    [Parameter(Mandatory)] [string] $Program,
    # Keeps the way to a cloud's metadata service, which goes when the network card moves to the virtual switch.
    [switch] $MetadataRoute,
    [switch] $Wins
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# No byte order mark: containerd reads the file.
$folder = "$HostRoot\etc\cni\net.d"
$text = [IO.File]::ReadAllText("$Config\cni-conf.json").Replace('${HOST_IP}', $env:HOST_IP)
[IO.File]::WriteAllText("$folder\10-flannel.new", $text)
Move-Item -LiteralPath "$folder\10-flannel.new" -Destination "$folder\10-flannel.conf" -Force
# With what this pod itself was started; containerd takes the first file by name.
$start = "$folder\0-containerd-nat.json"
if (Test-Path -LiteralPath $start) { Remove-Item -LiteralPath $start -Force }

$arguments = @(
    '--kube-subnet-mgr'
    "--kubeconfig-file=$HostConfig\kubeconfig.conf"
    "--net-config-path=$HostConfig\net-conf.json"
    "--iface=$env:HOST_IP"
)
if ($MetadataRoute -and $Wins) {
    & wins.exe cli route add --addresses 169.254.169.254
} elseif ($MetadataRoute) {
    & "$env:SystemRoot\System32\route.exe" -p add 169.254.169.254 mask 255.255.255.255 0.0.0.0
}
if ($Wins) {
    # wins moves the program away when it starts it: each start needs a new copy.
    Copy-Item -LiteralPath $Program -Destination "$HostRoot\k\flannel\flanneld.exe" -Force
    & wins.exe cli process run --path $Program --args ($arguments -join ' ') --envs "NODE_NAME=$env:NODE_NAME"
} else {
    & ([Environment]::ExpandEnvironmentVariables($Program)) @arguments
}
exit $LASTEXITCODE

# A network of the host network service, known by its name.
function Get-hnsNetworkResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $networkName, [string] $kind)
    foreach ($network in @(Invoke-HostNetwork -Method 'GET' -Path '/networks')) {
        if ($network.Name -cne $networkName) { continue }
        # A type in another case is the same type.
        if ($network.Type -eq $kind) { return @{ ensure = 'present'; kind = $kind } }
        return @{ ensure = 'present'; kind = $network.Type }
    }
    @{ ensure = 'absent' }
}

function Set-hnsNetworkResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $networkName, [Parameter(Mandatory)] [string] $ensure, [string] $kind)
    foreach ($network in @(Invoke-HostNetwork -Method 'GET' -Path '/networks')) {
        if ($network.Name -ceq $networkName) {
            $null = Invoke-HostNetwork -Method 'DELETE' -Path "/networks/$($network.ID)"
        }
    }
    if ($ensure -eq 'absent') { return }
    $body = ConvertTo-Json -InputObject @{ Name = $networkName; Type = $kind } -Compress
    $null = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body $body
}

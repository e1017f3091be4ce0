# A certificate in a store of the machine, known by the digest of its bytes.
function Get-certificateResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $store, [Parameter(Mandatory)] [string] $sha256)
    if (@(Get-StoreDigest -Store $store) -ccontains $sha256) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

function Set-certificateResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $store, [Parameter(Mandatory)] [string] $sha256,
        [Parameter(Mandatory)] [string] $ensure, [Parameter(Mandatory)] [string] $content)
    if ((Get-ByteDigest -Bytes ([Convert]::FromBase64String($content))) -cne $sha256) {
        throw "the plan's certificate has not its digest $sha256"
    }
    if ($ensure -eq 'absent') {
        Remove-StoreCertificate -Store $store -Content $content
    } else {
        Add-StoreCertificate -Store $store -Content $content
    }
}

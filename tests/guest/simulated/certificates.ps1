# Certificate stores of the machine.

# The bytes of a store's certificates, in base64.
function Open-CertificateStore {
    [CmdletBinding()]
    param([string] $Store, [string] $Access)
    @("$(Get-Simulation -Area 'certificates' -Name $Store)".Split(' ') | Where-Object { $_ })
}

function Get-StoreDigest {
    [CmdletBinding()]
    param([string] $Store)
    foreach ($content in @(Open-CertificateStore -Store $Store -Access 'ReadOnly')) {
        Get-ByteDigest -Bytes (ConvertTo-Certificate -Content $content)
    }
}

function ConvertTo-Certificate {
    [CmdletBinding()]
    param([string] $Content)
    , [Convert]::FromBase64String($Content)
}

function Add-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    Confirm-Simulation -Ability 'Add-StoreCertificate'
    $all = @(Open-CertificateStore -Store $Store -Access 'ReadWrite')
    # A store holds a certificate once.
    if ($all -ccontains $Content) { return }
    $all += $Content
    Set-Simulation -Area 'certificates' -Name $Store -Value ($all -join ' ')
}

function Remove-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $all = @(Open-CertificateStore -Store $Store -Access 'ReadWrite' | Where-Object { $_ -cne $Content })
    Set-Simulation -Area 'certificates' -Name $Store -Value ($all -join ' ')
}

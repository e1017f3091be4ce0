# Certificate stores of the machine.

function Open-CertificateStore {
    [CmdletBinding()]
    param([string] $Store, [string] $Access)
    $type = 'Security.Cryptography.X509Certificates.X509Store'
    $opened = New-Object -TypeName $type -ArgumentList $Store, 'LocalMachine'
    $opened.Open($Access)
    $opened
}

# Digests of the certificates in a store of the machine.
function Get-StoreDigest {
    [CmdletBinding()]
    param([string] $Store)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadOnly'
    try {
        foreach ($certificate in $opened.Certificates) { Get-ByteDigest -Bytes $certificate.RawData }
    } finally {
        $opened.Close()
    }
}

function ConvertTo-Certificate {
    [CmdletBinding()]
    param([string] $Content)
    $type = 'Security.Cryptography.X509Certificates.X509Certificate2'
    # The comma keeps the bytes one argument.
    New-Object -TypeName $type -ArgumentList (, [Convert]::FromBase64String($Content))
}

function Add-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadWrite'
    try {
        $opened.Add((ConvertTo-Certificate -Content $Content))
    } finally {
        $opened.Close()
    }
}

function Remove-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadWrite'
    try {
        $opened.Remove((ConvertTo-Certificate -Content $Content))
    } finally {
        $opened.Close()
    }
}

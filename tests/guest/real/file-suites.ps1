# Files, access rights, archives, registry and certificates under the engine's own abilities. Loaded by real.ps1.

function Test-Registry {
    $key = "$script:Key\laws"
    Set-RegistryValue -Key $key -Name 'Case' -Kind 'DWord' -Data 1
    $found = Get-RegistryValue -Key $key.ToUpperInvariant() -Name 'cASE'
    Confirm-Law -Law 'registry.case' -Holds ($null -ne $found -and $found.data -eq 1) -Detail $found
    Confirm-Refusal -Law 'registry.absent-remove' -Block { Remove-RegistryValue -Key $key -Name 'None' }

    $item = Open-RegistryKey -Key $key -Write
    try {
        $list = New-Object -TypeName 'string[]' -ArgumentList 2
        Confirm-Refusal -Law 'registry.null-member' -Block { $item.SetValue('List', $list, 'MultiString') }
        $item.SetValue('Empty', [string[]]@(), 'MultiString')
    } finally {
        $item.Close()
    }
    $found = Get-RegistryValue -Key $key -Name 'Empty'
    $holds = $null -ne $found -and @($found.data).Count -eq 0
    Confirm-Law -Law 'registry.empty-list' -Holds $holds -Detail $found
    $found = Get-RegistryValue -Key (Get-MemoryKey) -Name 'PagingFiles'
    $holds = $null -ne $found -and $found.kind -eq 'MultiString'
    Confirm-Law -Law 'registry.page-file' -Holds $holds -Detail ($found.data -join ', ')
}

# The way of Move-Partial, without what it does about refusals.
function Test-Move {
    $from, $to = "$script:Work\move.partial", "$script:Work\move.txt"
    Write-Text -Path $to -Text 'old'
    Set-Sddl -Path $to -Sddl $script:FileAccess
    Write-Text -Path $from -Text 'new'
    Move-File -From $from -To $to
    Confirm-Law -Law 'file.move-replaces' -Holds ([IO.File]::ReadAllText($to) -ceq 'new') -Detail $to
    $found = Get-Sddl -Path $to
    Confirm-Law -Law 'file.moved-inherits' -Holds ($found -cne $script:FileAccess) -Detail $found

    Write-Text -Path $from -Text 'new'
    $null = [IO.Directory]::CreateDirectory("$script:Work\folder")
    Confirm-Refusal -Law 'file.move-onto-folder' -Block { Move-File -From $from -To "$script:Work\folder" }
    Write-Text -Path $from -Text 'new'
    $open = [IO.File]::Open($to, 'Open', 'Read', 'Read')
    try {
        Confirm-Refusal -Law 'file.open-not-replaced' -Block { Move-File -From $from -To $to }
    } finally {
        $open.Dispose()
    }
    Confirm-Refusal -Law 'file.absent-link' -Block { Remove-Link -Path "$script:Work\no-link" }
}

# A file that another process holds for a second, and files that are read-only.
function Test-Held {
    $from, $to = "$script:Work\held.txt.partial", "$script:Work\held.txt"
    Write-Text -Path $to -Text 'old'
    Write-Text -Path $from -Text 'new'
    $open = [IO.File]::Open($to, 'Open', 'Read', 'Read')
    $holder = [PowerShell]::Create().AddScript({
        param($open)
        Start-Sleep -Seconds 1
        $open.Dispose()
    }).AddArgument($open)
    $null = $holder.BeginInvoke()
    try { Move-Partial -Target $to } catch { Assert-That -Name 'a held file' -Holds $false -Detail "$_" }
    $text = [IO.File]::ReadAllText($to)
    Confirm-Law -Law 'file.held-for-a-moment' -Holds ($text -ceq 'new') -Detail $text

    [IO.File]::SetAttributes($to, 'ReadOnly')
    [IO.File]::Copy($to, "$script:Work\copy.txt", $true)
    $found = [IO.File]::GetAttributes("$script:Work\copy.txt")
    Confirm-Law -Law 'file.copy-keeps-read-only' -Holds ("$found" -match 'ReadOnly') -Detail $found
    Confirm-Refusal -Law 'file.read-only-not-deleted' -Block { [IO.File]::Delete($to) }
    Confirm-Refusal -Law 'file.read-only-not-replaced' -Block { [IO.File]::WriteAllText($to, 'x') }
    foreach ($path in $to, "$script:Work\copy.txt") { [IO.File]::SetAttributes($path, 'Normal') }
}

function Test-Access {
    $path = "$script:Work\access.txt"
    Write-Text -Path $path -Text 'x'
    Set-Sddl -Path $path -Sddl $script:FolderAccess
    $found = Get-Sddl -Path $path
    Confirm-Law -Law 'file.leaf-flags' -Holds ($found -ceq $script:FileAccess) -Detail $found
    $folder = "$script:Work\access"
    $null = [IO.Directory]::CreateDirectory($folder)
    Set-Sddl -Path $folder -Sddl 'O:BAG:SYD:P(A;CIOI;FA;;;BA)(A;CIOI;FA;;;S-1-5-18)(A;OICI;FRFX;;;BU)'
    $found = Get-Sddl -Path $folder
    $wanted = "$script:FolderAccess(A;OICI;0x1200a9;;;BU)"
    Confirm-Law -Law 'file.sorted-sddl' -Holds ($found -ceq $wanted) -Detail $found
    Set-Sddl -Path $folder -Sddl "$script:FolderAccess(A;OICI;FA;;;BA)"
    $found = Get-Sddl -Path $folder
    Confirm-Law -Law 'file.folded-entries' -Holds ($found -ceq $script:FolderAccess) -Detail $found
    Confirm-Refusal -Law 'file.rights-of-nothing' -Block {
        Set-Sddl -Path "$script:Work\none" -Sddl $script:FolderAccess
    }
}

# A tar archive of one member with a mode and a name: a header of 512 bytes, the bytes, and two empty blocks.
function Write-TarArchive {
    param([string] $Path, [string] $Member, [string] $Mode, [string] $Text)
    $header = New-Object -TypeName 'byte[]' -ArgumentList 512
    $size = [Convert]::ToString($Text.Length, 8).PadLeft(11, '0')
    $fields = @(
        @(0, $Member), @(100, "0000$Mode"), @(108, '0000000'), @(116, '0000000'), @(124, $size),
        @(136, '00000000000'), @(148, '        '), @(156, '0'), @(257, 'ustar'), @(263, '00')
    )
    foreach ($field in $fields) {
        $bytes = [Text.Encoding]::ASCII.GetBytes($field[1])
        [Array]::Copy($bytes, 0, $header, $field[0], $bytes.Length)
    }
    $sum = 0
    foreach ($byte in $header) { $sum += $byte }
    $bytes = [Text.Encoding]::ASCII.GetBytes([Convert]::ToString($sum, 8).PadLeft(6, '0') + "`0 ")
    [Array]::Copy($bytes, 0, $header, 148, $bytes.Length)
    $body = New-Object -TypeName 'byte[]' -ArgumentList 1536
    $bytes = [Text.Encoding]::ASCII.GetBytes($Text)
    [Array]::Copy($bytes, 0, $body, 0, $bytes.Length)
    [IO.File]::WriteAllBytes($Path, [byte[]]($header + $body))
}

function Test-Archive {
    $archive, $folder = "$script:Work\read-only.tar", "$script:Work\unpacked"
    $null = [IO.Directory]::CreateDirectory($folder)
    Write-TarArchive -Path $archive -Member 'read-only.txt' -Mode '444' -Text 'x'
    Expand-TarMember -Archive $archive -Destination $folder -Members 'read-only.txt'
    $found = [IO.File]::GetAttributes("$folder\read-only.txt")
    Confirm-Law -Law 'file.tar-read-only' -Holds ("$found" -match 'ReadOnly') -Detail $found
    # What comes of it in the engine: it is replaced a second time.
    $item = [pscustomobject]@{ member = 'read-only.txt'; path = "$script:Work\member.txt" }
    foreach ($turn in 1, 2) { Copy-TarMember -Archive $archive -Members @($item) }
    Assert-That -Name 'a read-only member is replaced' -Holds ([IO.File]::Exists($item.path))
    Write-TarArchive -Path $archive -Member '-C' -Mode '644' -Text 'dash'
    Expand-TarMember -Archive $archive -Destination $folder -Members '-C'
    $holds = [IO.File]::Exists("$folder\-C")
    Confirm-Law -Law 'file.tar-options-end' -Holds $holds -Detail "$folder\-C"

    Add-Type -AssemblyName 'System.IO.Compression', 'System.IO.Compression.FileSystem'
    $null = [IO.Directory]::CreateDirectory("$script:Work\zip\inner")
    Write-Text -Path "$script:Work\zip\inner\a.txt" -Text 'x'
    [IO.Compression.ZipFile]::CreateFromDirectory("$script:Work\zip", "$script:Work\names.zip")
    $zip = [IO.Compression.ZipFile]::OpenRead("$script:Work\names.zip")
    try { $name = @($zip.Entries)[0].FullName } finally { $zip.Dispose() }
    # .NET of PowerShell 7 writes slashes in any case.
    $holds = $name -ceq 'inner\a.txt' -or "$($PSVersionTable['PSEdition'])" -eq 'Core'
    Confirm-Law -Law 'archive.names' -Holds $holds -Detail $name
}

# A certificate whose key is gone, as Sysprep leaves it.
function Test-Certificate {
    $subject = @{ DnsName = 'imagegen-real-key'; CertStoreLocation = 'Cert:\LocalMachine\My' }
    $made = New-SelfSignedCertificate @subject
    $path = "Cert:\LocalMachine\My\$($made.Thumbprint)"
    $extensions = [Security.Cryptography.X509Certificates.RSACertificateExtensions]
    $key = $extensions::GetRSAPrivateKey($made)
    $key.Key.Delete()
    $with = @{ DeleteKey = $true }
    $message = ''
    try { Remove-Item -LiteralPath $path @with -ErrorAction Stop } catch { $message = "$($_.Exception.Message)" }
    $there = Test-Path -LiteralPath $path
    $holds = $message -ne '' -and -not $there
    $detail = "there: $there, refused with: $message"
    Confirm-Law -Law 'winrm.key-after-sysprep' -Holds $holds -Detail $detail
    if ($there) { Remove-Item -LiteralPath $path }
}

# The registry of the machine.

# A key of the machine, $null when there is none. The drive HKLM: takes `/` in a name for a level (`RC4 128/128`)
# and cannot write the value without a name.
function Open-RegistryKey {
    [CmdletBinding()]
    param([string] $Key, [switch] $Write)
    if ($Key -notmatch '^HKLM:\\(.+)$') { throw "$Key is not below HKLM:\" }
    $root = [Microsoft.Win32.RegistryKey]::OpenBaseKey('LocalMachine', 'Registry64')
    if ($Write) { $root.CreateSubKey($Matches[1]) } else { $root.OpenSubKey($Matches[1]) }
}

function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    $item = Open-RegistryKey -Key $Key
    if ($null -eq $item -or $Name -notin $item.GetValueNames()) { return $null }
    $kind = $item.GetValueKind($Name).ToString()
    $data = $item.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
    switch ($kind) {
        'DWord' { $data = [BitConverter]::ToUInt32([BitConverter]::GetBytes([int]$data), 0) }
        'QWord' { $data = [BitConverter]::ToUInt64([BitConverter]::GetBytes([long]$data), 0) }
        'Binary' { $data = [BitConverter]::ToString([byte[]]$data).Replace('-', '').ToLowerInvariant() }
    }
    $item.Close()
    @{ kind = $kind; data = $data }
}

function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    switch ($Kind) {
        'DWord' { $Data = [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32]$Data), 0) }
        'QWord' { $Data = [BitConverter]::ToInt64([BitConverter]::GetBytes([uint64]$Data), 0) }
        'Binary' { $Data = [byte[]](ConvertFrom-Hex -Text $Data) }
        'MultiString' { $Data = [string[]]@($Data) }
        default { $Data = [string]$Data }
    }
    $item = Open-RegistryKey -Key $Key -Write
    try { $item.SetValue($Name, $Data, $Kind) } finally { $item.Close() }
}

function Remove-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    $item = Open-RegistryKey -Key $Key -Write
    try { $item.DeleteValue($Name) } finally { $item.Close() }
}

function Get-EnvironmentKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
}

function Get-MemoryKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
}

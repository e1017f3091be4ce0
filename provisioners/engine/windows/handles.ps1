# Files by handle: what is opened is the file itself, and never what a link in its place leads to. Paths are whole,
# and a link above the folder `Below` is one that only administrators could make.

# The class of Get-FileFunction, which is compiled once.
$script:FileFunction = $null

# Functions of Windows' libraries as a class. An upgrade runs the scripts of two versions in one process, and 5.1
# refuses a class whose text has changed (https://github.com/PowerShell/PowerShell/issues/9575): its name has the
# digest of its text.
function Add-NativeClass {
    [CmdletBinding()]
    param([string] $Name, [string] $Text)
    $digest = Get-ByteDigest -Bytes ([Text.Encoding]::UTF8.GetBytes($Text))
    $whole = $Name + $digest.Substring(0, 16)
    # The compiler of Add-Type fails on a folder in LIB that is not there
    # (ansible-collections/ansible.windows@c208456).
    $env:LIB = ''
    Add-Type -MemberDefinition $Text -Name $whole -Namespace 'Imagegen' -PassThru
}

# FileStream of .NET cannot say FILE_FLAG_OPEN_REPARSE_POINT, so kernel32.dll is called.
function Get-FileFunction {
    [CmdletBinding()]
    param()
    if ($null -ne $script:FileFunction) { return $script:FileFunction }
    $import = '[DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)] public static extern'
    $file = 'Microsoft.Win32.SafeHandles.SafeFileHandle CreateFileW(string path, uint access, uint share,'
    $path = 'uint GetFinalPathNameByHandleW(SafeHandle handle, System.Text.StringBuilder path, uint size,'
    $signatures = @(
        "$file IntPtr security, uint mode, uint flags, IntPtr template);"
        "$path uint flags);"
        'bool GetFileInformationByHandle(SafeHandle handle, [Out] byte[] facts);'
        'bool SetFileInformationByHandle(SafeHandle handle, int kind, byte[] facts, uint size);'
    )
    $text = @($signatures | ForEach-Object { "$import $_" }) -join "`n"
    $script:FileFunction = Add-NativeClass -Name 'FileFunction' -Text $text
    $script:FileFunction
}

# The last error of kernel32.dll as one that Invoke-FileAction knows.
function New-FileError {
    [CmdletBinding()]
    param([string] $Path)
    $code = [Runtime.InteropServices.Marshal]::GetLastWin32Error()
    $why = New-Object -TypeName ComponentModel.Win32Exception -ArgumentList $code
    New-Object -TypeName IO.IOException -ArgumentList "${Path}: $($why.Message)"
}

function Open-FileHandle {
    [CmdletBinding()]
    param([string] $Path, [long] $Access, [long] $Share, [long] $Mode, [long] $Flags)
    $native = Get-FileFunction
    $none = [IntPtr]::Zero
    $whole = "\\?\$([IO.Path]::GetFullPath($Path))"
    $handle = $native::CreateFileW($whole, $Access, $Share, $none, $Mode, $Flags, $none)
    if ($handle.IsInvalid) { throw (New-FileError -Path $Path) }
    $handle
}

# The path of what a handle stands for, without links.
function Get-HandlePath {
    [CmdletBinding()]
    param([Runtime.InteropServices.SafeHandle] $Handle)
    $native = Get-FileFunction
    $text = New-Object -TypeName Text.StringBuilder -ArgumentList 32768
    $length = $native::GetFinalPathNameByHandleW($Handle, $text, 32768, 0)
    if ($length -eq 0 -or $length -ge 32768) { throw (New-FileError -Path 'a file that is open') }
    $text.ToString() -replace '^\\\\\?\\', ''
}

# Refuses a handle of something that lies elsewhere than its path says, below the folder as it really is.
function Confirm-HandlePath {
    [CmdletBinding()]
    param([Runtime.InteropServices.SafeHandle] $Handle, [string] $Path, [string] $Below)
    $whole = [IO.Path]::GetFullPath($Path)
    $start = [IO.Path]::GetFullPath($Below).TrimEnd('\')
    $isBelow = $whole.StartsWith("$start\", [StringComparison]::OrdinalIgnoreCase)
    if (-not $isBelow) { throw "$Path is not in $Below" }
    # FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, which folders need.
    $top = Open-FileHandle -Path "$start\" -Access 128 -Share 7 -Mode 3 -Flags 33554432
    try { $base = "$(Get-HandlePath -Handle $top)".TrimEnd('\') } finally { $top.Dispose() }
    $wanted = $base + $whole.Substring($start.Length)
    $found = "$(Get-HandlePath -Handle $Handle)"
    if (-not [string]::Equals($found, $wanted, [StringComparison]::OrdinalIgnoreCase)) {
        throw "$Path leads to $found and is left alone"
    }
}

# Refuses a link, a folder, and a file that has another name as well. BY_HANDLE_FILE_INFORMATION begins with the
# attributes, and has the number of names at 40.
function Confirm-PlainHandle {
    [CmdletBinding()]
    param([Runtime.InteropServices.SafeHandle] $Handle, [string] $Path)
    $native = Get-FileFunction
    $facts = New-Object -TypeName 'byte[]' -ArgumentList 52
    if (-not $native::GetFileInformationByHandle($Handle, $facts)) { throw (New-FileError -Path $Path) }
    # FILE_ATTRIBUTE_REPARSE_POINT and FILE_ATTRIBUTE_DIRECTORY
    $isOther = ([BitConverter]::ToUInt32($facts, 0) -band 0x410) -ne 0
    if ($isOther) { throw "$Path is a link or a folder and is left alone" }
    $names = [BitConverter]::ToUInt32($facts, 40)
    if ($names -ne 1) { throw "$Path has $names names and is left alone" }
}

# A file below a folder that others may write to, as a stream: `Read`, `ReadWrite`, or `Write` for one that is
# made new. While one that is written is open nobody takes it or its folder away.
function Open-PlainFile {
    [CmdletBinding()]
    param([string] $Path, [string] $Below, [string] $Access)
    # GENERIC_READ and GENERIC_WRITE; who else may read 1, write 2, remove 4; OPEN_EXISTING 3 or CREATE_NEW 1.
    $ways = @{ Read = @(2147483648, 7, 3); ReadWrite = @(3221225472, 3, 3); Write = @(1073741824, 0, 1) }
    $right, $share, $mode = $ways[$Access]
    $handle = Open-FileHandle -Path $Path -Access $right -Share $share -Mode $mode -Flags 2097152
    try {
        Confirm-PlainHandle -Handle $handle -Path $Path
        Confirm-HandlePath -Handle $handle -Path $Path -Below $Below
        New-Object -TypeName IO.FileStream -ArgumentList $handle, ([IO.FileAccess]$Access)
    } catch {
        $handle.Dispose()
        throw
    }
}

# A file, an empty folder, or a link without what it leads to.
function Remove-PlainItem {
    [CmdletBinding()]
    param([string] $Path, [string] $Below)
    # DELETE; FILE_FLAG_BACKUP_SEMANTICS and FILE_FLAG_OPEN_REPARSE_POINT
    $handle = Open-FileHandle -Path $Path -Access 65536 -Share 7 -Mode 3 -Flags 35651584
    try {
        Confirm-HandlePath -Handle $handle -Path $Path -Below $Below
        $native = Get-FileFunction
        # FileDispositionInfo, whose one byte says that the file goes when its handle is closed.
        $isSet = $native::SetFileInformationByHandle($handle, 4, [byte[]](, 1), 1)
        if (-not $isSet) { throw (New-FileError -Path $Path) }
    } finally {
        $handle.Dispose()
    }
}

# Files by handle: what is opened is the file itself, and never what a link in its place leads to. Paths are whole,
# and a link above the folder `Below` is one that only administrators could make.

# Functions of kernel32.dll, which .NET does not give: FileStream cannot say FILE_FLAG_OPEN_REPARSE_POINT, and 5.1
# lists no path of more than 259 characters. Each gives its error number, 0 for none: PowerShell cannot ask for it
# afterwards, because it makes calls of its own between two lines, and .NET keeps the number of the last one.
$script:FileText = @'
[StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode, Pack = 4)]
public struct Entry
{
    public uint Attributes;
    public long Created, Accessed, Written;
    public uint SizeHigh, SizeLow, Tag, Reserved;
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 260)] public string Name;
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 14)] public string ShortName;
}

[DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
static extern Microsoft.Win32.SafeHandles.SafeFileHandle CreateFileW(
    string path, uint access, uint share, IntPtr security, uint mode, uint flags, IntPtr template);
[DllImport("kernel32.dll", SetLastError = true)]
static extern Microsoft.Win32.SafeHandles.SafeFileHandle ReOpenFile(
    SafeHandle handle, uint access, uint share, uint flags);
[DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
static extern uint GetFinalPathNameByHandleW(
    SafeHandle handle, System.Text.StringBuilder path, uint size, uint flags);
[DllImport("kernel32.dll", SetLastError = true)]
static extern bool GetFileInformationByHandle(SafeHandle handle, [Out] byte[] facts);
[DllImport("kernel32.dll", SetLastError = true)]
static extern bool SetFileInformationByHandle(SafeHandle handle, int kind, byte[] facts, int size);
[DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
static extern IntPtr FindFirstFileW(string path, out Entry entry);
[DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
static extern bool FindNextFileW(IntPtr search, out Entry entry);
[DllImport("kernel32.dll")]
static extern bool FindClose(IntPtr search);

static int Tell(bool done)
{
    return done ? 0 : Marshal.GetLastWin32Error();
}

public static int Open(string path, uint access, uint share, uint mode, uint flags,
    out Microsoft.Win32.SafeHandles.SafeFileHandle handle)
{
    handle = CreateFileW(path, access, share, IntPtr.Zero, mode, flags, IntPtr.Zero);
    return Tell(!handle.IsInvalid);
}

public static int GetPath(SafeHandle handle, System.Text.StringBuilder path)
{
    return Tell(GetFinalPathNameByHandleW(handle, path, (uint)path.Capacity, 0) != 0);
}

public static int GetFacts(SafeHandle handle, byte[] facts)
{
    return Tell(GetFileInformationByHandle(handle, facts));
}

// FileDispositionInfo: the file goes when its handle is closed.
public static int Remove(SafeHandle handle)
{
    return Tell(SetFileInformationByHandle(handle, 4, new byte[] { 1 }, 1));
}

// FileBasicInfo with the attribute NORMAL, which ends in none: not marked as read-only. Times of 0 stay.
public static int Unmark(SafeHandle handle)
{
    byte[] facts = new byte[40];
    facts[32] = 128;
    // FILE_WRITE_ATTRIBUTES; FILE_FLAG_BACKUP_SEMANTICS and FILE_FLAG_OPEN_REPARSE_POINT
    using (SafeHandle writer = ReOpenFile(handle, 256, 7, 35651584))
    {
        return Tell(!writer.IsInvalid && SetFileInformationByHandle(writer, 0, facts, 40));
    }
}

public static int List(string folder, System.Collections.IList entries)
{
    Entry entry;
    IntPtr search = FindFirstFileW(folder + "\\*", out entry);
    if (search == new IntPtr(-1)) return Marshal.GetLastWin32Error();
    try
    {
        do entries.Add(entry); while (FindNextFileW(search, out entry));
        // ERROR_NO_MORE_FILES
        int error = Marshal.GetLastWin32Error();
        return error == 18 ? 0 : error;
    }
    finally
    {
        FindClose(search);
    }
}
'@

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
    @(Add-Type -MemberDefinition $Text -Name $whole -Namespace 'Imagegen' -PassThru) |
        Where-Object { $_.Name -eq $whole }
}

function Get-FileFunction {
    [CmdletBinding()]
    param()
    if ($null -eq $script:FileFunction) {
        $script:FileFunction = Add-NativeClass -Name 'FileFunction' -Text $script:FileText
    }
    $script:FileFunction
}

# An error number as an error that Invoke-FileAction knows, nothing for 0.
function Assert-FileResult {
    [CmdletBinding()]
    param([int] $Code, [string] $Path)
    if ($Code -eq 0) { return }
    $why = New-Object -TypeName ComponentModel.Win32Exception -ArgumentList $Code
    throw (New-Object -TypeName IO.IOException -ArgumentList "${Path}: $($why.Message)")
}

# A path that Windows takes as it is. Without the prefix, or made whole by .NET, `x.` is `x`, and `nul` a device.
function ConvertTo-DevicePath {
    [CmdletBinding()]
    param([string] $Path)
    '\\?\' + $Path.Replace('/', '\')
}

function Open-FileHandle {
    [CmdletBinding()]
    param([string] $Path, [long] $Access, [long] $Share, [long] $Mode, [long] $Flags)
    $native = Get-FileFunction
    $handle = $null
    $whole = ConvertTo-DevicePath -Path $Path
    $code = $native::Open($whole, $Access, $Share, $Mode, $Flags, [ref]$handle)
    Assert-FileResult -Code $code -Path $Path
    $handle
}

# The path of what a handle stands for, without links.
function Get-HandlePath {
    [CmdletBinding()]
    param([Runtime.InteropServices.SafeHandle] $Handle)
    $native = Get-FileFunction
    # The longest path of Windows has 32,767 characters.
    $text = New-Object -TypeName Text.StringBuilder -ArgumentList 32768
    Assert-FileResult -Code ($native::GetPath($Handle, $text)) -Path 'a file that is open'
    $text.ToString() -replace '^\\\\\?\\', ''
}

# Refuses a handle of something that lies elsewhere than its path says, below the folder as it really is.
function Confirm-HandlePath {
    [CmdletBinding()]
    param([Runtime.InteropServices.SafeHandle] $Handle, [string] $Path, [string] $Below)
    $whole = $Path.Replace('/', '\')
    $start = $Below.Replace('/', '\').TrimEnd('\')
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
    Assert-FileResult -Code ($native::GetFacts($Handle, $facts)) -Path $Path
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

# What is in a folder: name, isFolder, isLink.
function Get-FolderEntry {
    [CmdletBinding()]
    param([string] $Path)
    $native = Get-FileFunction
    $found = New-Object -TypeName Collections.ArrayList
    Assert-FileResult -Code ($native::List((ConvertTo-DevicePath -Path $Path), $found)) -Path $Path
    foreach ($entry in $found) {
        if ($entry.Name -ceq '.' -or $entry.Name -ceq '..') { continue }
        # FILE_ATTRIBUTE_DIRECTORY and FILE_ATTRIBUTE_REPARSE_POINT
        $isFolder = ($entry.Attributes -band 0x10) -ne 0
        @{ name = $entry.Name; isFolder = $isFolder; isLink = ($entry.Attributes -band 0x400) -ne 0 }
    }
}

# A file, an empty folder, or a link without what it leads to, also one that is marked as read-only.
function Remove-PlainItem {
    [CmdletBinding()]
    param([string] $Path, [string] $Below)
    # DELETE; FILE_FLAG_BACKUP_SEMANTICS and FILE_FLAG_OPEN_REPARSE_POINT
    $handle = Open-FileHandle -Path $Path -Access 65536 -Share 7 -Mode 3 -Flags 35651584
    try {
        Confirm-HandlePath -Handle $handle -Path $Path -Below $Below
        $native = Get-FileFunction
        $code = $native::Remove($handle)
        # ERROR_ACCESS_DENIED
        if ($code -eq 5) {
            Assert-FileResult -Code ($native::Unmark($handle)) -Path $Path
            $code = $native::Remove($handle)
        }
        Assert-FileResult -Code $code -Path $Path
    } finally {
        $handle.Dispose()
    }
}

# Files by handle in a folder with links. Loaded by real.ps1.

# A folder with a file, and links out of it: to a file, by a second name, to a folder.
function New-LinkFolder {
    param([string] $Path)
    Write-Text -Path "$Path\plain.txt" -Text 'inside'
    Write-Text -Path "$Path.away\file.txt" -Text 'away'
    $null = New-Item -ItemType SymbolicLink -Path "$Path\link.txt" -Value "$Path.away\file.txt"
    $null = New-Item -ItemType HardLink -Path "$Path\second.txt" -Value "$Path.away\file.txt"
    $null = New-Item -ItemType Junction -Path "$Path\junction" -Value "$Path.away"
}

function Test-Handle {
    $top = "$script:Work\handles"
    New-LinkFolder -Path $top
    $stream = Open-PlainFile -Path "$top/plain.txt" -Below $top -Access 'ReadWrite'
    try {
        Assert-That -Name 'a file is opened' -Holds ($stream.Length -eq 6) -Detail $stream.Length
        $holder = [IO.File]::Open("$top\plain.txt", 'Open', 'Write', 'ReadWrite')
        $holder.Dispose()
    } finally {
        $stream.Dispose()
    }
    foreach ($access in 'Read', 'ReadWrite') {
        Confirm-Refusal -Law 'file.open-link' -Text 'is a link' -Block {
            Open-PlainFile -Path "$top\link.txt" -Below $top -Access $access
        }
    }
    Confirm-Refusal -Law 'file.open-link' -Block {
        Open-PlainFile -Path "$top\link.txt" -Below $top -Access 'Write'
    }
    Confirm-Refusal -Law 'file.second-name' -Text '2 names' -Block {
        Open-PlainFile -Path "$top\second.txt" -Below $top -Access 'ReadWrite'
    }
    Confirm-Refusal -Law 'file.final-path' -Text 'leads to' -Block {
        Open-PlainFile -Path "$top\junction\file.txt" -Below $top -Access 'Read'
    }
    Confirm-Refusal -Law 'file.final-path' -Text 'leads to' -Block {
        Remove-PlainItem -Path "$top\junction\file.txt" -Below $top
    }
    # A link above the folder is one that an administrator made.
    $stream = Open-PlainFile -Path "$top\junction\file.txt" -Below "$top\junction" -Access 'Read'
    $stream.Dispose()

    foreach ($name in 'link.txt', 'second.txt', 'junction', 'plain.txt') {
        Remove-PlainItem -Path "$top\$name" -Below $top
    }
    $left = @(Get-ChildItem -LiteralPath $top -Force)
    $text = [IO.File]::ReadAllText("$top.away\file.txt")
    $holds = $left.Count -eq 0 -and $text -ceq 'away'
    Confirm-Law -Law 'file.removed-by-handle' -Holds $holds -Detail "$($left.Count) left, $text"
}

function Get-RefusalText {
    param([scriptblock] $Block)
    try { $null = & $Block } catch { return "$($_.Exception.Message)" }
    ''
}

# The reason of a refusal is Windows' own: 2 for what is not there, 32 for what another has open.
function Test-HandleReason {
    $top = "$script:Work\reasons"
    Write-Text -Path "$top\held.txt" -Text 'x'
    $held = [IO.File]::Open("$top\held.txt", 'Open', 'Read', 'None')
    try {
        $told = @{
            2 = Get-RefusalText -Block { Open-PlainFile -Path "$top\none" -Below $top -Access 'Read' }
            32 = Get-RefusalText -Block { Remove-PlainItem -Path "$top\held.txt" -Below $top }
        }
    } finally {
        $held.Dispose()
    }
    foreach ($code in $told.Keys) {
        $wanted = (New-Object -TypeName ComponentModel.Win32Exception -ArgumentList $code).Message
        Confirm-Law -Law 'file.error-number' -Holds $told[$code].EndsWith($wanted) -Detail $told[$code]
    }
    [IO.File]::SetAttributes("$top\held.txt", 'ReadOnly')
    Remove-PlainItem -Path "$top\held.txt" -Below $top
    $left = [IO.File]::Exists("$top\held.txt")
    Assert-That -Name 'a file that is marked as read-only is removed' -Holds (-not $left)
}

# A folder of files with these names, which no path leads to but one behind \\?\. A name with a backslash is in a
# folder of its own.
function New-OddFolder {
    param([string] $Path, [string[]] $Names)
    $null = [IO.Directory]::CreateDirectory($Path)
    Write-Text -Path "$Path.txt" -Text 'odd'
    $import = '[DllImport("kernel32.dll", CharSet = CharSet.Unicode)] public static extern bool'
    $text = "$import CreateDirectoryW(string path, IntPtr security);"
    $text += "$import CopyFileW(string from, string to, bool isNew);"
    $native = Add-NativeClass -Name 'OddName' -Text $text
    foreach ($name in $Names) {
        $folder = $name.Split('\')[0]
        if ($folder -cne $name) { $null = $native::CreateDirectoryW("\\?\$Path\$folder", [IntPtr]::Zero) }
        $null = $native::CopyFileW("$Path.txt", "\\?\$Path\$name", $true)
    }
}

# Their names as they are listed. They are gone afterwards, without their folder or with it.
function Clear-OddFolder {
    param([string] $Path, [string[]] $Names)
    New-OddFolder -Path $Path -Names $Names
    $found = @(Get-FolderEntry -Path $Path | ForEach-Object { $_.name } | Sort-Object) -join '|'
    Clear-Folder -Path $Path
    $left = @(Get-FolderEntry -Path $Path | ForEach-Object { $_.name }) -join '|'
    Assert-That -Name "a folder with $Names is emptied" -Holds ($left -eq '') -Detail $left
    New-OddFolder -Path $Path -Names $Names
    Remove-Tree -Path $Path
    $holds = -not (Test-Path -LiteralPath $Path)
    Assert-That -Name "a folder with $Names is removed" -Holds $holds
    $found
}

function Test-OddName {
    $found = Clear-OddFolder -Path "$script:Work\odd" -Names 'nul', 'in\com1'
    Confirm-Law -Law 'file.odd-names' -Holds ($found -ceq 'in|nul') -Detail $found
}

# Not on Wine, whose GetFinalPathNameByHandle takes the dot away.
function Test-DottedName {
    $found = Clear-OddFolder -Path "$script:Work\dotted" -Names 'x.', 'y ', 'z.\z '
    Confirm-Law -Law 'file.odd-names' -Holds ($found -ceq 'x.|y |z.') -Detail $found
}

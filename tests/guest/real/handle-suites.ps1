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

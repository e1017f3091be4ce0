# Why a script ended, kept where others find it: text on the error stream alone reaches neither the history of a
# task nor the log of a platform. Loaded by every script that a person, a task or a platform starts.
function Write-Reason {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Root, [Parameter(Mandatory)] [string] $Source,
        [Parameter(Mandatory)] [string] $Message)
    # Text of servers and programs is part of it: what a terminal would obey is left out.
    $Message = $Message -replace '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)', '?'
    [Console]::Error.WriteLine("imagegen: $Message")
    $folder = Join-Path -Path $Root -ChildPath 'state'
    $time = [DateTime]::UtcNow.ToString('yyyy-MM-ddTHH:mm:ssZ', [cultureinfo]::InvariantCulture)
    try {
        $null = [IO.Directory]::CreateDirectory($folder)
        # Before the machine is checked it may be a folder of users, who could lead these words to any file.
        $there = @(Get-Item -LiteralPath $folder -Force -ErrorAction Stop)
        $there += @(Get-ChildItem -LiteralPath $folder -Filter 'errors.log' -Force -ErrorAction Stop)
        foreach ($item in $there) {
            $isLink = ($item.Attributes -band [IO.FileAttributes]::ReparsePoint) -ne 0
            if ($isLink) { throw "$($item.FullName) is a link" }
        }
        [IO.File]::AppendAllText("$folder/errors.log", "$time ${Source}: $Message`n")
    } catch {
        [Console]::Error.WriteLine("imagegen: $folder/errors.log: $($_.Exception.Message)")
    }
}

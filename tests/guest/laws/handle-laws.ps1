# Files by handle, links and access lists of the simulated machine obey what laws.json says of them. Loaded by
# run.ps1.

function Test-OpenFile {
    param([string] $Source)
    $world = New-World -Source $Source
    $top = "$world/C/handles"
    foreach ($folder in "$top/inside", "$world/C/away") { $null = [IO.Directory]::CreateDirectory($folder) }
    foreach ($file in "$top/inside/plain", "$world/C/away/file") { [IO.File]::WriteAllText($file, 'as it was') }
    $stream = Open-PlainFile -Path "$top/inside/plain" -Below $top -Access 'Read'
    try { $length = $stream.Length } finally { $stream.Dispose() }
    Assert-That -Name 'a file is opened' -Holds ($length -eq 9) -Detail $length

    $link = "$top/inside/link"
    $null = New-Item -ItemType SymbolicLink -Path $link -Value "$world/C/away/file"
    $said = @(foreach ($access in 'Read', 'ReadWrite', 'Write') {
        Get-Refusal -Block { Open-PlainFile -Path $link -Below $top -Access $access }
    })
    $holds = @($said | Where-Object { $_ }).Count -eq 3
    Assert-That -Name 'a link in the place of a file is not opened' -Holds $holds -Detail ($said -join ', ')
    $null = New-Item -ItemType HardLink -Path "$top/inside/second" -Value "$world/C/away/file"
    $said = Get-Refusal -Block { Open-PlainFile -Path "$top/inside/second" -Below $top -Access 'ReadWrite' }
    Assert-That -Name 'a file with two names is not opened' -Holds $said.Contains('names') -Detail $said

    $null = New-Item -ItemType SymbolicLink -Path "$top/folder" -Value "$world/C/away"
    $said = Get-Refusal -Block { Open-PlainFile -Path "$top/folder/file" -Below $top -Access 'Read' }
    Assert-That -Name 'a folder that is a link is not gone through' -Holds $said.Contains('leads') -Detail $said
    $said = Get-Refusal -Block { Remove-PlainItem -Path "$top/folder/file" -Below $top }
    $holds = $said.Contains('leads') -and [IO.File]::Exists("$world/C/away/file")
    Assert-That -Name 'nothing behind a link is removed' -Holds $holds -Detail $said
    foreach ($path in $link, "$top/folder") { Remove-PlainItem -Path $path -Below $top }
    $left = @(Get-ChildItem -LiteralPath $top -Recurse -Force | ForEach-Object { $_.Name } | Sort-Object) -join ' '
    $holds = $left -eq 'inside plain second' -and [IO.File]::Exists("$world/C/away/file")
    Assert-That -Name 'a link is removed and what it leads to stays' -Holds $holds -Detail $left
}

# Who may write by an access list, `-` for administrators alone.
function Test-AccessLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $head = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    $rows = @(
        @($head, '-'),
        @("$head(A;OICI;0x1200a9;;;BU)(A;;FRFX;;;WD)", '-'),
        @("$head(A;OICIIO;SDGXGWGR;;;AU)(A;OICIIO;GA;;;CO)", '-'),
        @("$head(D;;FA;;;BU)", '-'),
        @('O:LAG:S-1-5-21-1-2-3-513D:(A;ID;FA;;;S-1-5-21-1-2-3-500)', '-'),
        @("$head(A;;LC;;;BU)", 'BU'),
        @("$head(A;CIID;DC;;;BU)", 'BU'),
        @("$head(A;;0x1301bf;;;AU)", 'AU'),
        @("$head(A;;FW;;;S-1-1-0)", 'S-1-1-0'),
        @("$head(A;;GRGW;;;BU)(A;;WO;;;AU)", 'BU AU'),
        @("$head(XA;;SD;;;AU;(WIN://x))", 'AU'),
        @('O:S-1-5-21-1-2-3-1001G:SYD:PAI(A;;FA;;;SY)', 'S-1-5-21-1-2-3-1001'),
        @('O:BAG:SYD:NO_ACCESS_CONTROL', 'everybody'),
        @('O:BAG:SY', 'everybody')
    )
    $odd = @(foreach ($row in $rows) {
        $found = @(Select-Grantee -Sddl $row[0] -Mask $script:Writing) -join ' '
        if (-not $found) { $found = '-' }
        if ($found -cne $row[1]) { "$($row[0]): $found" }
    })
    $holds = $odd.Count -eq 0
    Assert-That -Name 'an access list tells who may write' -Holds $holds -Detail ($odd -join ', ')
    $found = @(Select-Grantee -Sddl "$head(A;;LC;;;AU)(A;;DT;;;BU)" -Mask $script:Replacing) -join ' '
    Assert-That -Name 'a folder above is replaced by other rights' -Holds ($found -eq 'BU') -Detail $found
    $found = Get-AccountId
    Assert-That -Name 'an account has an identifier' -Holds ($found -match '^S-1-5-') -Detail $found
}

# Files by handle, links and access lists of the simulated machine obey what laws.json says of them.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'OpenFile' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $top = "$world/C/handles"
        foreach ($folder in "$top/inside", "$world/C/away") { $null = [IO.Directory]::CreateDirectory($folder) }
        foreach ($file in "$top/inside/plain", "$world/C/away/file") {
            [IO.File]::WriteAllText($file, 'as it was')
        }
        $stream = Open-PlainFile -Path "$top/inside/plain" -Below $top -Access 'Read'
        try { $length = $stream.Length } finally { $stream.Dispose() }
    }

    It 'a file is opened' {
        $length | Should -Be 9
    }

    It 'a link in the place of a file is not opened' {
        $script:link = "$top/inside/link"
        $null = New-Item -ItemType SymbolicLink -Path $link -Value "$world/C/away/file"
        $said = @(foreach ($access in 'Read', 'ReadWrite', 'Write') {
            Get-Refusal -Block { Open-PlainFile -Path $link -Below $top -Access $access }
        })
        @($said | Where-Object { $_ }).Count | Should -Be 3 -Because ($said -join ', ')
    }

    It 'a file with two names is not opened' {
        $null = New-Item -ItemType HardLink -Path "$top/inside/second" -Value "$world/C/away/file"
        $said = Get-Refusal -Block { Open-PlainFile -Path "$top/inside/second" -Below $top -Access 'ReadWrite' }
        $said.Contains('names') | Should -BeTrue -Because $said
    }

    It 'a folder that is a link is not gone through' {
        $null = New-Item -ItemType SymbolicLink -Path "$top/folder" -Value "$world/C/away"
        $said = Get-Refusal -Block { Open-PlainFile -Path "$top/folder/file" -Below $top -Access 'Read' }
        $said.Contains('leads') | Should -BeTrue -Because $said
    }

    It 'nothing behind a link is removed' {
        $said = Get-Refusal -Block { Remove-PlainItem -Path "$top/folder/file" -Below $top }
        $said.Contains('leads') | Should -BeTrue -Because $said
        [IO.File]::Exists("$world/C/away/file") | Should -BeTrue -Because $said
    }

    It 'a link is removed and what it leads to stays' {
        foreach ($path in $link, "$top/folder") { Remove-PlainItem -Path $path -Below $top }
        $left = Get-ChildItem -LiteralPath $top -Recurse -Force | ForEach-Object { $_.Name } | Sort-Object
        $left = @($left) -join ' '
        $left | Should -Be 'inside plain second'
        [IO.File]::Exists("$world/C/away/file") | Should -BeTrue -Because $left
    }
}

# Who may write by an access list, `-` for administrators alone.
Describe 'AccessLaw' -Tag 'laws' {
    BeforeAll {
        $null = New-World
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
    }

    It 'an access list tells who may write' {
        $odd.Count | Should -Be 0 -Because ($odd -join ', ')
    }

    It 'a folder above is replaced by other rights' {
        $found = @(Select-Grantee -Sddl "$head(A;;LC;;;AU)(A;;DT;;;BU)" -Mask $script:Replacing) -join ' '
        $found | Should -Be 'BU'
    }

    It 'an account has an identifier' {
        $found = Get-AccountId
        ($found -match '^S-1-5-') | Should -BeTrue -Because $found
    }
}

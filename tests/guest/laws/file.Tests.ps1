# Files, archives and the registry of the simulated machine obey what laws.json says of them.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'FileReplacement' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $from, $to = "$world/C/new.txt", "$world/C/old.txt"
        [IO.File]::WriteAllText($from, 'new')
        $null = [IO.Directory]::CreateDirectory("$world/C/folder")
        $said = Get-Refusal -Block { Move-File -From $from -To "$world/C/folder" }
    }

    It 'a file is not moved onto a folder' {
        $said | Should -Not -Be ''
    }

    It 'a read-only file is not replaced' {
        [IO.File]::WriteAllText($to, 'old')
        [IO.File]::SetAttributes($to, 'ReadOnly')
        $said = Get-Refusal -Block { Move-File -From $from -To $to }
        $said | Should -Not -Be ''
        [IO.File]::ReadAllText($to) | Should -BeExactly 'old' -Because $said
    }

    It 'a copy of a read-only file is read-only' {
        [IO.File]::Copy($to, "$world/C/copy.txt")
        $found = [IO.File]::GetAttributes("$world/C/copy.txt")
        ($found -band [IO.FileAttributes]::ReadOnly) | Should -Not -Be 0 -Because $found
    }

    It 'a file that is held for a moment is free later' {
        [IO.File]::WriteAllText("$world/C/held.txt", 'old')
        Set-Simulation -Area 'files' -Name 'held.txt' -Value 'held 2'
        $refused = @(foreach ($turn in 1, 2, 3) {
            (Get-Refusal -Block { Move-File -From $from -To "$world/C/held.txt" }) -ne ''
        }) -join ' '
        $refused | Should -Be 'True True False'
        [IO.File]::ReadAllText("$world/C/held.txt") | Should -BeExactly 'new' -Because $refused
    }

    It 'equal entries of one account become one' {
        Set-Sddl -Path 'C:\folder' -Sddl 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)'
        $found = Get-Sddl -Path 'C:\folder'
        $found | Should -BeExactly 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    }

    It 'the removal of a link leaves its target' {
        New-Link -Path 'C:\link' -Target 'C:\folder'
        Remove-Link -Path 'C:\link'
        $null -eq (Get-LinkTarget -Path 'C:\link') | Should -BeTrue
        [IO.Directory]::Exists("$world/C/folder") | Should -BeTrue
    }
}

# Members as tar leaves them on the disk.
Describe 'TarMember' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        Start-Deadline -Name 'archive' -Seconds 60
        $folder = "$world/C/packed"
        $null = [IO.Directory]::CreateDirectory($folder)
        foreach ($name in 'read-only.txt', '-dash') { [IO.File]::WriteAllText("$folder/$name", 'x') }
        [IO.File]::SetAttributes("$folder/read-only.txt", 'ReadOnly')
        $archive = "$world/C/packed.tar"
        $names = @('read-only.txt', '-dash')
        $null = Invoke-Native -Program 'tar' -Arguments (@('-cf', $archive, '-C', $folder, '--') + $names)
        $null = [IO.Directory]::CreateDirectory("$world/C/unpacked")
        Expand-TarMember -Archive $archive -Destination "$world/C/unpacked" -Members $names
        $found = [IO.File]::GetAttributes("$world/C/unpacked/read-only.txt")
    }

    It 'a member that its owner cannot write is read-only' {
        ($found -band [IO.FileAttributes]::ReadOnly) | Should -Not -Be 0 -Because $found
    }

    It 'a member that begins with a dash is a name' {
        [IO.File]::Exists("$world/C/unpacked/-dash") | Should -BeTrue
    }
}

Describe 'RegistryKind' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $key = 'HKLM:\SOFTWARE\Laws'
        Set-RegistryValue -Key $key -Name '' -Kind 'String' -Data 'of the key'
        $script:found = Get-RegistryValue -Key $key -Name ''
    }

    It 'the value without a name is one' {
        $found.data | Should -BeExactly 'of the key' -Because $found
    }

    It 'names of the registry have no case' {
        Set-RegistryValue -Key $key -Name 'Number' -Kind 'DWord' -Data 4294967295
        $script:found = Get-RegistryValue -Key $key.ToUpperInvariant() -Name 'nUMBER'
        $found | Should -Not -Be $null
    }

    It 'a number of 32 bits comes back as it was written' {
        $found.data | Should -Be 4294967295
    }

    It 'a text with variables comes back unexpanded' {
        Set-RegistryValue -Key $key -Name 'Text' -Kind 'ExpandString' -Data '%SystemRoot%\x'
        $script:found = Get-RegistryValue -Key $key -Name 'Text'
        $found.data | Should -BeExactly '%SystemRoot%\x'
    }

    It 'a list has no member that is nothing' {
        $said = Get-Refusal -Block {
            Set-RegistryValue -Key $key -Name 'List' -Kind 'MultiString' -Data @('a', $null)
        }
        $said | Should -Not -Be ''
    }

    It 'an empty list is no absent value' {
        Set-RegistryValue -Key $key -Name 'Empty' -Kind 'MultiString' -Data @()
        $script:found = Get-RegistryValue -Key $key -Name 'Empty'
        $found | Should -Not -Be $null
        @($found.data).Count | Should -Be 0 -Because $found
    }

    It 'an environment variable that names another is expanded later' {
        Set-RegistryValue -Key (Get-EnvironmentKey) -Name 'LAW' -Kind 'ExpandString' -Data '%PATH%;x'
        $script:found = Get-RegistryValue -Key (Get-EnvironmentKey) -Name 'LAW'
        $found.kind | Should -Be 'ExpandString' -Because $found
        $found.data | Should -BeExactly '%PATH%;x' -Because $found
    }

    It 'the page file is a list of the registry' {
        $value = @{ Key = (Get-MemoryKey); Name = 'PagingFiles' }
        Set-RegistryValue @value -Kind 'MultiString' -Data @('?:\pagefile.sys')
        $script:found = Get-RegistryValue @value
        $found.kind | Should -Be 'MultiString' -Because $found
        @($found.data).Count | Should -Be 1 -Because $found
    }
}

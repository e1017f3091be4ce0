# Files, archives and the registry of the simulated machine obey what laws.json says of them. Loaded by run.ps1.

function Test-FileReplacement {
    param([string] $Source)
    $world = New-World -Source $Source
    $from, $to = "$world/C/new.txt", "$world/C/old.txt"
    [IO.File]::WriteAllText($from, 'new')
    $null = [IO.Directory]::CreateDirectory("$world/C/folder")
    $said = Get-Refusal -Block { Move-File -From $from -To "$world/C/folder" }
    Assert-That -Name 'a file is not moved onto a folder' -Holds ($said -ne '') -Detail $said

    [IO.File]::WriteAllText($to, 'old')
    [IO.File]::SetAttributes($to, 'ReadOnly')
    $said = Get-Refusal -Block { Move-File -From $from -To $to }
    $holds = $said -ne '' -and [IO.File]::ReadAllText($to) -ceq 'old'
    Assert-That -Name 'a read-only file is not replaced' -Holds $holds -Detail $said
    [IO.File]::Copy($to, "$world/C/copy.txt")
    $found = [IO.File]::GetAttributes("$world/C/copy.txt")
    $holds = ($found -band [IO.FileAttributes]::ReadOnly) -ne 0
    Assert-That -Name 'a copy of a read-only file is read-only' -Holds $holds -Detail $found

    [IO.File]::WriteAllText("$world/C/held.txt", 'old')
    Set-Simulation -Area 'files' -Name 'held.txt' -Value 'held 2'
    $refused = @(foreach ($turn in 1, 2, 3) {
        (Get-Refusal -Block { Move-File -From $from -To "$world/C/held.txt" }) -ne ''
    }) -join ' '
    $holds = $refused -eq 'True True False' -and [IO.File]::ReadAllText("$world/C/held.txt") -ceq 'new'
    Assert-That -Name 'a file that is held for a moment is free later' -Holds $holds -Detail $refused

    Set-Sddl -Path 'C:\folder' -Sddl 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)'
    $found = Get-Sddl -Path 'C:\folder'
    $holds = $found -ceq 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    Assert-That -Name 'equal entries of one account become one' -Holds $holds -Detail $found
    New-Link -Path 'C:\link' -Target 'C:\folder'
    Remove-Link -Path 'C:\link'
    $holds = $null -eq (Get-LinkTarget -Path 'C:\link') -and [IO.Directory]::Exists("$world/C/folder")
    Assert-That -Name 'the removal of a link leaves its target' -Holds $holds
}

# Members as tar leaves them on the disk.
function Test-TarMember {
    param([string] $Source)
    $world = New-World -Source $Source
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
    $holds = ($found -band [IO.FileAttributes]::ReadOnly) -ne 0
    Assert-That -Name 'a member that its owner cannot write is read-only' -Holds $holds -Detail $found
    $holds = [IO.File]::Exists("$world/C/unpacked/-dash")
    Assert-That -Name 'a member that begins with a dash is a name' -Holds $holds
}

function Test-RegistryKind {
    param([string] $Source)
    $null = New-World -Source $Source
    $key = 'HKLM:\SOFTWARE\Laws'
    Set-RegistryValue -Key $key -Name '' -Kind 'String' -Data 'of the key'
    $found = Get-RegistryValue -Key $key -Name ''
    Assert-That -Name 'the value without a name is one' -Holds ($found.data -ceq 'of the key') -Detail $found
    Set-RegistryValue -Key $key -Name 'Number' -Kind 'DWord' -Data 4294967295
    $found = Get-RegistryValue -Key $key.ToUpperInvariant() -Name 'nUMBER'
    Assert-That -Name 'names of the registry have no case' -Holds ($null -ne $found) -Detail $found
    $holds = $found.data -eq 4294967295
    Assert-That -Name 'a number of 32 bits comes back as it was written' -Holds $holds -Detail $found.data
    Set-RegistryValue -Key $key -Name 'Text' -Kind 'ExpandString' -Data '%SystemRoot%\x'
    $found = Get-RegistryValue -Key $key -Name 'Text'
    $holds = $found.data -ceq '%SystemRoot%\x'
    Assert-That -Name 'a text with variables comes back unexpanded' -Holds $holds -Detail $found.data
    $said = Get-Refusal -Block {
        Set-RegistryValue -Key $key -Name 'List' -Kind 'MultiString' -Data @('a', $null)
    }
    Assert-That -Name 'a list has no member that is nothing' -Holds ($said -ne '') -Detail $said
    Set-RegistryValue -Key $key -Name 'Empty' -Kind 'MultiString' -Data @()
    $found = Get-RegistryValue -Key $key -Name 'Empty'
    $holds = $null -ne $found -and @($found.data).Count -eq 0
    Assert-That -Name 'an empty list is no absent value' -Holds $holds -Detail $found

    Set-RegistryValue -Key (Get-EnvironmentKey) -Name 'LAW' -Kind 'ExpandString' -Data '%PATH%;x'
    $found = Get-RegistryValue -Key (Get-EnvironmentKey) -Name 'LAW'
    $holds = $found.kind -eq 'ExpandString' -and $found.data -ceq '%PATH%;x'
    Assert-That -Name 'an environment variable that names another is expanded later' -Holds $holds -Detail $found
    $value = @{ Key = (Get-MemoryKey); Name = 'PagingFiles' }
    Set-RegistryValue @value -Kind 'MultiString' -Data @('?:\pagefile.sys')
    $found = Get-RegistryValue @value
    $holds = $found.kind -eq 'MultiString' -and @($found.data).Count -eq 1
    Assert-That -Name 'the page file is a list of the registry' -Holds $holds -Detail $found
}

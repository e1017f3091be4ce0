# Abilities of Windows as they are: what Wine serves of the registry, the environment, programs, files and
# services. The names are those of the cases of the simulation.

function Get-Refusal {
    param([scriptblock] $Block)
    try { $null = & $Block } catch { return "$($_.Exception.Message)" }
    ''
}

function Test-Ability {
    . 'C:\imagegen\engine\Tools.ps1'
    . $script:Platform
    Start-Deadline -Name 'abilities' -Seconds 120
    $null = [IO.Directory]::CreateDirectory('C:\world')
    Test-RegistryKind
    Test-Word
    Test-Program
    Test-File
    Test-Service
}

# As tests/guest/laws/file.Tests.ps1 asks the simulation.
function Test-RegistryKind {
    $key = 'HKLM:\SOFTWARE\Laws'
    $values = @(
        @('the value without a name is one', '', 'String', 'of the key'),
        @('a number of 32 bits comes back as it was written', 'Number', 'DWord', 4294967295),
        @('a number of 64 bits comes back as it was written', 'Long', 'QWord', 9223372036854775807),
        @('a text with variables comes back unexpanded', 'Text', 'ExpandString', '%SystemRoot%\x'),
        @('a list comes back as it was written', 'List', 'MultiString', @('a', '', 'b')),
        @('a slash in the name of a key is no level', 'Slash', 'DWord', 1)
    )
    foreach ($value in $values) {
        $place = $key
        if ($value[1] -eq 'Slash') { $place = "$key\RC4 128/128" }
        Set-RegistryValue -Key $place -Name $value[1] -Kind $value[2] -Data $value[3]
        $found = Get-RegistryValue -Key $place -Name $value[1]
        $holds = $found.kind -eq $value[2] -and (@($found.data) -join '|') -ceq (@($value[3]) -join '|')
        Assert-That -Name $value[0] -Holds $holds -Detail "$($found.kind) $($found.data)"
    }
    Set-RegistryValue -Key $key -Name 'Case' -Kind 'DWord' -Data 1
    $found = Get-RegistryValue -Key $key.ToUpperInvariant() -Name 'cASE'
    Assert-That -Name 'names of keys and values have no case' -Holds ($null -ne $found -and $found.data -eq 1)
    Set-RegistryValue -Key $key -Name 'Empty' -Kind 'MultiString' -Data @()
    $found = Get-RegistryValue -Key $key -Name 'Empty'
    $holds = $null -ne $found -and @($found.data).Count -eq 0
    Assert-That -Name 'an empty list is no absent value' -Holds $holds -Detail $found
    $said = Get-Refusal -Block { Remove-RegistryValue -Key $key -Name 'None' }
    Assert-That -Name 'a value that is not there is not removed' -Holds ($said -ne '') -Detail $said
    $item = Open-RegistryKey -Key $key -Write
    $list = New-Object -TypeName 'string[]' -ArgumentList 2
    $said = Get-Refusal -Block { $item.SetValue('Null', $list, 'MultiString') }
    $item.Dispose()
    Assert-That -Name 'a list of .NET has no member that is nothing' -Holds ($said -ne '') -Detail $said
}

# Words of a command line come back as they were.
function Test-Word {
    Write-Text -Path 'C:\world\words.ps1' -Text "[IO.File]::WriteAllLines('C:\world\words.txt', [string[]]`$args)"
    $words = @('a b', '', 'say "hello"', 'c:\x\', '\\s\a b\', "tab`there", '%PATH% & | < > ^', '--taints=a=b')
    $line = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', 'C:\world\words.ps1')
    $null = Invoke-Native -Program (Get-PowerShellPath) -Arguments ($line + $words) -Accept 0
    $found = [IO.File]::ReadAllLines('C:\world\words.txt')
    $holds = ($found -join "`0") -ceq ($words -join "`0")
    Assert-That -Name 'words of a command line come back as they were' -Holds $holds -Detail ($found -join '|')
}

function Test-Program {
    $shell = "$env:SystemRoot\System32\cmd.exe"
    $ran = Invoke-Native -Program $shell -Arguments @('/c', 'exit', '5') -Accept @()
    Assert-That -Name 'an exit code comes through' -Holds ($ran.exitCode -eq 5) -Detail $ran.exitCode
    $said = ''
    try { $null = Invoke-Native -Program $shell -Arguments @('/c', 'exit', '5') } catch { $said = "$_" }
    Assert-That -Name 'a failure is named' -Holds ($said -match '5') -Detail $said
    $text = Invoke-ScriptText -Text '"4 + $(2 + 3)"'
    Assert-That -Name 'a script has its frame' -Holds ("$text".Trim() -eq '4 + 5') -Detail $text
}

function Test-File {
    $from, $to = 'C:\world\new.txt', 'C:\world\old.txt'
    foreach ($name in 'x [1]', 'plain') {
        $null = [IO.Directory]::CreateDirectory("C:\world\$name")
        Write-Text -Path $to -Text 'old'
        Write-Text -Path $from -Text 'new'
        Move-File -From $from -To $to
        $holds = [IO.File]::ReadAllText($to) -ceq 'new' -and -not [IO.File]::Exists($from)
        Assert-That -Name 'a move replaces a file' -Holds $holds
    }
    Write-Text -Path $from -Text 'new'
    $cases = @(
        @('a move does not replace a folder', 'C:\world\plain'),
        @('a move does not replace an open file', $to)
    )
    foreach ($case in $cases) {
        $said = ''
        $open = [IO.File]::Open($to, 'Open', 'Read', 'Read')
        try { Move-File -From $from -To $case[1] } catch { $said = "$_" } finally { $open.Dispose() }
        Assert-That -Name $case[0] -Holds ($said -ne '') -Detail $said
    }
    Remove-Tree -Path 'C:\world\x [1]'
    Assert-That -Name 'a folder with brackets is removed' -Holds (-not [IO.Directory]::Exists('C:\world\x [1]'))
}

# A service that is there and never started, and one that others need.
function Test-Service {
    foreach ($name in 'imagegen-one', 'imagegen-two') {
        New-ServiceEntry -Name $name -CommandLine '"C:\a b\none.exe" --flag "c d"'
    }
    $found = Get-RegistryValue -Key (Get-ServiceKey -Name 'imagegen-one') -Name 'ImagePath'
    $holds = $found.data -ceq '"C:\a b\none.exe" --flag "c d"'
    Assert-That -Name 'a service keeps its command line' -Holds $holds -Detail $found.data
    $said = ''
    try { New-ServiceEntry -Name 'imagegen-one' -CommandLine 'C:\x.exe' } catch { $said = "$_" }
    Assert-That -Name 'a service is made once' -Holds ($said -ne '')
    $needed = @(Get-ServiceDependent -Name 'imagegen-one')
    Assert-That -Name 'no service needs it' -Holds ($needed.Count -eq 0) -Detail ($needed -join ', ')
    foreach ($name in 'imagegen-one', 'imagegen-two') {
        Remove-ServiceEntry -Name $name
        $left = @(Get-Service | Where-Object { $_.Name -eq $name })
        Assert-That -Name 'a service is removed' -Holds ($left.Count -eq 0) -Detail $name
    }
}

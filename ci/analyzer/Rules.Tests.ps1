# Every rule finds its defect, and that one alone, in a script that is good without it.
BeforeAll {
    Set-StrictMode -Version 3.0
    Import-Module -Name PSScriptAnalyzer
    Import-Module -Name "$PSScriptRoot/Trees.psm1"
    Import-Module -Name "$PSScriptRoot/Traps.psm1"
    Import-Module -Name "$PSScriptRoot/Calls.psm1"
    Import-Module -Name "$PSScriptRoot/Abilities.psm1"
    Import-Module -Name "$PSScriptRoot/Laws.psm1"
    Import-Module -Name "$PSScriptRoot/Lines.psm1"
    $script:good = @'
$x = "$env:A ${path}: $script:Task $a::b $(Get-Thing)"
$script:Task = 'x'
function Get-Thing {
    $task = 1
    @(Get-Thing).Count + $task
}
function Get-One {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path)
    Get-Item -LiteralPath $Path
}
$y = Get-NetFirewallRule -Name 'x' -ErrorAction Stop
$z = Get-Command -Name 'x' -ErrorAction SilentlyContinue
$ProgressPreference = 'SilentlyContinue'

'@
    # All rules for one script but those that compare several.
    function Find-Planted {
        param([string] $Text, [string] $Name = 'provisioners/engine/Planted.ps1')
        $script = New-Script -Name $Name -Text $Text
        $known = Get-Known -Script $script
        @(
            Find-Form -Script $script
            Find-Drive -Script $script
            Find-Default -Script $script
            Find-Member -Script $script
            Find-Collision -Script $script -Loaded $script
            Find-Preference -Script $script -Known $known
            Find-Leak -Script $script -Known $known
            Find-Unread -Script $script
            Find-Call -Script $script -Known $known
            Find-Layout -Script $script
            Find-Refused -Script $script
            Find-Swallowed -Script $script
            Find-AwaitedTime -Script $script
        )
    }
}

Describe 'Traps of 5.1' {
    It 'leaves a good script alone' { Find-Planted -Text $script:good | Should -BeNullOrEmpty }

    It 'finds <text>' -ForEach @(
        @{ text = 'Get-Item `' + "`n" + '    -LiteralPath ''x'''; wanted = 'backtick' }
        @{ text = 'if ($?) { $x = 1 }'; wanted = '`$?`' }
        @{ text = 'if ($IsWindows) { $x = 1 }'; wanted = 'not in 5.1' }
        @{ text = 'function Get-Two { param([string] $Path) $Path }'; wanted = 'CmdletBinding' }
        @{ text = '$x = "no $path:here"'; wanted = 'is a drive' }
        @{ text = "`$x = @`"`nno `$path:here`n`"@"; wanted = 'is a drive' }
        @{ text = '$x = (Get-Thing).Count'; wanted = 'may give nothing' }
        @{ text = '$x = (Get-Thing | Sort-Object).Name'; wanted = 'may give nothing' }
        @{ text = '$x = (Get-Thing)[0]'; wanted = 'may give nothing' }
        @{ text = '(Get-Thing).Start()'; wanted = 'may give nothing' }
        @{ text = '$x = Get-NetFirewallRule -Name ''x'''; wanted = 'needs -ErrorAction Stop' }
        @{ text = 'Register-ScheduledTask -TaskName ''x'' -ErrorAction Ignore'; wanted = 'needs -Error' }
        @{ text = '$x = Get-FileHash -LiteralPath ''x'''; wanted = 'needs -ErrorAction Stop' }
        @{ text = '$Task = 1'; wanted = 'at script level' }
        @{ text = 'foreach ($task in 1, 2) { $task }'; wanted = 'at script level' }
        @{ text = 'function Get-Two { $all.Add(1); $all }'; wanted = 'Add gives something' }
        @{ text = 'function Get-Two { [IO.Directory]::CreateDirectory(''x''); 2 }'; wanted = 'gives something' }
        @{ text = 'function Get-Two { New-Item -Path ''x''; 2 }'; wanted = 'New-Item gives something' }
        @{ text = 'function Get-Two { if ($a) { $p.WaitForExit(1); 2 } }'; wanted = 'WaitForExit gives' }
        @{ text = 'Get-Itme -LiteralPath ''x'''; wanted = 'no command of 5.1' }
        @{ text = 'ls -Path ''x'''; wanted = 'no command of 5.1' }
        @{ text = 'curl.exe -L'; wanted = 'no command of 5.1' }
        @{ text = 'Get-Item -LiteralPth ''x'''; wanted = 'no parameter -LiteralPth' }
        @{ text = '$x = Get-Thing -Pat'; wanted = 'no parameter -Pat' }
        @{ text = '$x = $a | ConvertFrom-Json -AsHashtable'; wanted = 'no parameter -AsHashtable' }
        @{ text = 'Join-Path -Path ''a'' -ChildPath ''b'' ''c'''; wanted = 'positional argument ''c''' }
        @{ text = 'Get-ChildItem -Force ''x'''; wanted = 'positional argument ''x''' }
        @{ text = 'Get-One'; wanted = 'needs -Path' }
        @{ text = '& $program'; wanted = 'run directly' }
        @{ text = '. ''other.ps1'''; wanted = 'run directly' }
        @{ text = 'Start-Process -FilePath ''x'''; wanted = 'not used here' }
        @{ text = 'function Get-Ones { 1 }'; wanted = 'is a plural' }
        @{ text = '$x = ''' + [char]233 + ''''; wanted = 'not ASCII' }
        @{ text = "`$x = 1`r"; wanted = 'a carriage return' }
        @{ text = "`$x =`t1"; wanted = 'a tabulator' }
        @{ text = "`$x = 1`n" * 250; wanted = ' lines, at most 250' }
        @{ text = '[IO.Compression.ZipFile]::CreateFromDirectory(''a'', ''b'')'; wanted = 'puts backslashes' }
        @{ text = '[Console]::Out.Write(''x'')'; wanted = 'a remote session does not carry it' }
        @{ text = 'Stop-Service -Name ''x'''; wanted = 'Wait-ServiceState asks' }
        @{ text = '$x = Get-LocalUser -Name ''x'' -ErrorAction SilentlyContinue'; wanted = 'Get-Existing' }
        @{ text = '$x = @{ ErrorAction = ''SilentlyContinue'' }'; wanted = 'Get-Existing names it' }
        @{ text = 'do { 1 } while ([DateTime]::UtcNow -lt $end)'; wanted = 'a Stopwatch counts on' }
        @{ text = 'while ((Get-Date) -lt $end) { 1 }'; wanted = 'a Stopwatch counts on' }
        @{ text = 'function Get-ChildItem { 1 }'; wanted = 'hides a command' }
        @{
            text = 'function Get-Two { [CmdletBinding()] param([string] $Name) 2 }'
            wanted = '$Name of Get-Two is never read'
        }
    ) {
        $found = @(Find-Planted -Text "$script:good$text`n")
        $found.Count | Should -Be 1 -Because ($found -join '; ')
        $found[0].Contains($wanted) | Should -BeTrue -Because $found[0]
    }

    It 'finds <_> in a default of a script' -ForEach '$PSScriptRoot', '$PSCommandPath', '$MyInvocation' {
        $found = @(Find-Planted -Text "[CmdletBinding()]`nparam([string] `$A = `"$_/x`")`n$script:good")
        "$found" | Should -BeLike '*empty under -File'
    }

    It 'finds what is of Windows in <text>' -ForEach @(
        @{ text = '$x = Get-Service -Name ''x''' }
        @{ text = '$x = Get-Acl -LiteralPath ''x''' }
        @{ text = '$x = ''HKLM:\SOFTWARE''' }
        @{ text = '$x = "C:\$a\sc.exe"' }
    ) {
        $script = New-Script -Name 'provisioners/engine/Planted.ps1' -Text $text
        Find-Windows -Script $script -Known (Get-Known) | Should -BeLike '*is for engine/windows'
    }

    It 'finds a value of a plan in <text>' -ForEach @(
        @{ text = '$a = ''{{ item.server }}''' }
        @{ text = '$a = "x{{ item.server | literal }}"' }
        @{ text = '$a = {{ item.x }}' }
    ) {
        Find-QuotedValue -Script (New-Script -Name 'x' -Text $text) | Should -Not -BeNullOrEmpty
        Find-QuotedValue -Script (New-Script -Name 'x' -Text '$a = {{ item.x | literal }}') | Should -BeNullOrEmpty
    }
}

Describe 'What several scripts have in common' {
    It 'finds a function that is not visible' {
        $module = "function Get-One {`n    Get-Two`n}`nfunction Get-Two {`n    2`n}`n" +
            "Export-ModuleMember -Function 'Get-One'`n"
        $import = "Import-Module -Name `"`$PSScriptRoot/M.psm1`"`n"
        foreach ($row in @("${import}Get-One", 0), @("${import}Get-Two", 1), @('Get-One', 1)) {
            $all = @((New-Script -Name 'a/M.psm1' -Text $module), (New-Script -Name 'a/run.ps1' -Text $row[0]))
            @(Find-Invisible -All $all).Count | Should -Be $row[1] -Because $row[0]
        }
    }

    It 'finds a variable that nobody sets' {
        $text = "`$a = 1`nfunction Get-One {`n    param(`$b)`n    foreach (`$c in `$a, `$b) { `$c }`n" +
            "    [int] `$d = 1`n    `"`$d `$e`"`n}`n`$d`n"
        $found = @(Find-Unset -Script (New-Script -Name 'x' -Text $text))
        $found -join '; ' | Should -Be 'x:6: $e is never set; x:8: $d is never set'
        Find-Unset -Script (New-Script -Name 'x' -Text $text) -Given 'd', 'e' | Should -BeNullOrEmpty
    }

    It 'finds a fact that no template writes' {
        $script = New-Script -Name 'x' -Text '$x = "$($Facts.config)"; $y = $facts.kubelt; $z = $facts.kubelet'
        @(Find-Fact -Script $script -Template "kubelet=a`n").Count | Should -Be 2
    }

    It 'finds an ability that the simulation has otherwise' {
        $ability = {
            param($Name, $Parameter, $Body = '', $File = 'x/engine/windows/things.ps1')
            New-Script -Name $File -Text "function $Name {`n    [CmdletBinding()]`n    param($Parameter)`n$Body}`n"
        }
        $real = & $ability 'Get-Thing' '[string] $Path'
        Compare-Ability -Windows $real -Simulated $real -Called 'Get-Thing' | Should -BeNullOrEmpty
        foreach ($other in @(
                & $ability 'Get-Thing' '[string] $Name'
                & $ability 'Get-Thing' '[int] $Path'
                & $ability 'Get-Other' '[string] $Path'
                & $ability 'Get-Thing' '[string] $Path' '' 'x/simulated/others.ps1'
            )) {
            Compare-Ability -Windows $real -Simulated $other -Called 'Get-Thing' | Should -BeLike 'Get-Thing: *'
        }
        $long = & $ability 'Get-Thing' '' ("    1`n" * 16)
        Compare-Ability -Windows $long -Simulated $long -Called 'Get-Thing' | Should -BeLike '*has 16 lines'
    }
}

Describe 'Laws of Windows' {
    # Settings of the analyzer with a list of severities leave errors of the parser out.
    It 'finds what does not parse' {
        Find-Syntax -Script (New-Script -Name 'x' -Text $script:good) | Should -BeNullOrEmpty
        foreach ($text in 'if ($a) {', '"no $path: here"') {
            Find-Syntax -Script (New-Script -Name 'x' -Text $text) | Should -BeLike 'x:1: *'
        }
    }

    It 'finds a script without a line end at its end' {
        Find-Layout -Script (New-Script -Name 'x' -Text '$x = 1') | Should -BeLike '*:1: no line end at the end'
    }

    It 'finds what a session of the network may not in <_>' -ForEach 'Add-WindowsCapability -Online', 'wusa.exe' {
        Find-NetworkSession -Script (New-Script -Name 'x' -Text $_) | Should -BeLike '*run it as SYSTEM'
        Find-NetworkSession -Script (New-Script -Name 'x' -Text "$_ 'S-1-5-18'") | Should -BeNullOrEmpty
    }

    It 'finds a command of Windows'' own that a remote session may not' {
        $script = New-Script -Name 'x' -Text 'Add-WindowsCapability -Online -Name ''x'''
        Find-Refused -Script $script | Should -BeLike '*Invoke-AsSystem starts Dism.exe'
    }

    It 'finds a text that was lost' {
        [IO.File]::WriteAllText("$TestDrive/x.ps1", 'kept')
        $kept = 'kept', 'lost' | ForEach-Object { [pscustomobject]@{ file = 'x.ps1'; text = $_; without = 'y' } }
        Find-Lost -Folder $TestDrive -Kept $kept | Should -Be 'x.ps1: no `lost`: y'
    }
}

Describe 'Lines of programs' {
    BeforeAll {
        $script:grammar = [IO.File]::ReadAllText("$PSScriptRoot/programs.json") | ConvertFrom-Json
        $script:lines = @'
function Set-One {
    $arguments = @('int', 'ipv4', 'set', 'dynamicport', $Protocol) + @("start=$Start", "num=$Count")
    $null = Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments
    $program = "$script:System32\wusa.exe"
    $line = "`"$Package`" /quiet /norestart"
    $arguments = @('-cf', $Archive)
    foreach ($one in $Folders) { $arguments += @('-C', $one) }
    @{ program = "$script:System32\tar.exe"; arguments = $arguments }
    $set = @("proxy-server=$server")
    if ($bypass) { $set += "bypass-list=$bypass" }
    $null = & "$env:SystemRoot\System32\netsh.exe" winhttp set proxy @set
    & "$env:SystemRoot\System32\bcdedit.exe" /ems $current on 2>&1
}

'@
    }

    It 'takes those that their documents have' {
        $script = New-Script -Name 'x' -Text $lines
        @(Get-ProgramLine -Tree $script.tree).Count | Should -Be 5
        Find-Line -Script $script -Grammar $grammar | Should -BeNullOrEmpty
    }

    It 'finds <wrong>' -ForEach @(
        @{ right = '"num=$Count"'; wrong = '"number=$Count"' }
        @{ right = '/norestart'; wrong = '/norestrat' }
        @{ right = '''-cf'', $Archive'; wrong = '"-cf$Archive"' }
        @{ right = 'bypass-list='; wrong = 'bypas-list=' }
        @{ right = '/ems $current'; wrong = '/em $current' }
        @{ right = 'wusa.exe'; wrong = 'wuza.exe' }
    ) {
        $script = New-Script -Name 'x' -Text $lines.Replace($right, $wrong)
        @(Find-Line -Script $script -Grammar $grammar).Count | Should -Be 1
    }
}

Describe 'Settings of the analyzer' {
    It 'finds what 5.1 does not have or the house does not want' {
        $text = @'
function Fetch-One { 1 }
$x = $a ?? 2
$x = $a ? 1 : 2
Get-Date && Get-Date
Remove-Service -Name 'x'
$a | ForEach-Object -Parallel { $_ }
$x = [System.Text.Json.JsonDocument]::Parse('{}')
try { $x = 1 } catch { }
Invoke-Expression -Command 'x'
Write-Host -Object 'x'
$event = 1
if ($all -eq $null) { 1 }
$global:One = 1
$x = ConvertTo-SecureString -String 'x' -AsPlainText -Force
function Get-Two { param([string] $PasswordText, [switch] $On = $true) $PasswordText; $On }
$x = 1
'@
        $text += " `n`$x = '$('0123456789' * 12)'`n"
        $settings = "$PSScriptRoot/../../PSScriptAnalyzerSettings.psd1"
        $file = Join-Path -Path $TestDrive -ChildPath 'planted.ps1'
        [IO.File]::WriteAllText($file, $text)
        $found = @(Invoke-ScriptAnalyzer -Path $file -Settings $settings | ForEach-Object -Process { $_.RuleName })
        $wanted = 'PSUseApprovedVerbs', 'PSUseCompatibleSyntax', 'PSUseCompatibleCommands',
            'PSUseCompatibleTypes', 'PSAvoidUsingEmptyCatchBlock', 'PSAvoidUsingInvokeExpression',
            'PSAvoidUsingWriteHost', 'PSAvoidAssignmentToAutomaticVariable',
            'PSPossibleIncorrectComparisonWithNull', 'PSAvoidGlobalVars', 'PSUseDeclaredVarsMoreThanAssignments',
            'PSAvoidUsingConvertToSecureStringWithPlainText', 'PSAvoidUsingPlainTextForPassword',
            'PSAvoidDefaultValueSwitchParameter', 'PSAvoidTrailingWhitespace', 'PSAvoidLongLines'
        @($wanted | Where-Object -FilterScript { $_ -notin $found }) -join ' ' | Should -Be ''
    }

    It 'gives a reason for each rule that is left out' {
        $settings = [IO.Path]::GetFullPath("$PSScriptRoot/../../PSScriptAnalyzerSettings.psd1")
        $lines = [IO.File]::ReadAllLines($settings)
        $start = @($lines | Select-String -Pattern 'ExcludeRules' -SimpleMatch)[0].LineNumber
        for ($at = $start; $lines[$at].Trim() -ne ')'; $at++) {
            if ($lines[$at] -match "^\s*'") { $lines[$at - 1].Trim() | Should -BeLike '# *' }
        }
    }
}

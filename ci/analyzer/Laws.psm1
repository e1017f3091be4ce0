# What Windows does otherwise than a script expects, where neither a simulation nor another rule shows it.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

# Windows refuses these in a session of the network, which Packer's is: a task of SYSTEM runs them.
$script:OfSystem = 'Add-AppxPackage', 'Add-AppxProvisionedPackage', 'Add-WindowsCapability',
    'Microsoft.Update.Session', 'Remove-AppxPackage', 'Remove-WindowsCapability', 'wusa.exe'

# What PowerShell's parser refuses; what only newer ones take, PSUseCompatibleSyntax finds.
function Find-Syntax {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($one in $Script.errors) { New-Finding -Script $Script -Node $one.Extent -Text $one.Message }
}

# 5.1 reads a file without a byte order mark in the system's code page, and a signature covers line ends. A script
# that has grown long is split by subject; a test of a case has its name, its end and a blank line besides.
function Find-Layout {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    $rules = [ordered]@{
        '[^\x00-\x7f]' = 'not ASCII'
        '\r' = 'a carriage return'
        '\t' = 'a tabulator'
        '[^\n]\z' = 'no line end at the end'
    }
    foreach ($form in $rules.Keys) {
        $found = [regex]::Match($Script.text, $form)
        if (-not $found.Success) { continue }
        $line = $Script.text.Substring(0, $found.Index).Split("`n").Count
        "$($Script.name):${line}: $($rules[$form])"
    }
    $most = if ($Script.isCase) { 400 } else { 250 }
    $lines = $Script.text.Split("`n").Count - 1
    if ($lines -gt $most) { "$($Script.name): $lines lines, at most $most" }
}

# Calls that do otherwise in 5.1, in a remote session, or while a service starts.
function Find-Refused {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'CommandAst', 'MemberExpressionAst',
        'InvokeMemberExpressionAst') {
        $isCommand = $node -is [Management.Automation.Language.CommandAst]
        $called = if ($isCommand) { $node.GetCommandName() } else { $node.Member.Extent.Text }
        $why = switch ($called) {
            'Add-WindowsCapability' { 'a remote session may not: Invoke-AsSystem starts Dism.exe' }
            'CreateFromDirectory' { '5.1 puts backslashes into the archive: name the members' }
            # The request itself.
            'Stop-Service' {
                if ($Script.name -notlike '*/windows/services.ps1') {
                    'it asks in any state: Wait-ServiceState asks when the service takes it'
                }
            }
            # A script's frame is a process of its own.
            'Out' {
                if ($node.Expression.Extent.Text -eq '[Console]' -and $Script.name -notlike '*/Native.ps1') {
                    'a remote session does not carry it: use Write-Information'
                }
            }
        }
        if ($why) { New-Finding -Script $Script -Node $node -Text "${called}: $why" }
    }
}

# Failures that are taken for the absence of what a command asks for. Get-Command has no other failure than that
# there is no such command; a link that cannot be asked is made anew, which says why it cannot be; a diagnosis has
# what it gets; progress is no failure.
function Find-Swallowed {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'StringConstantExpressionAst') {
        if ($node.Value -ne 'SilentlyContinue') { continue }
        $parent = $node.Parent
        $isCommand = $parent -is [Management.Automation.Language.CommandAst]
        $name = if ($isCommand) { $parent.GetCommandName() } else { '' }
        $isKnown = $name -eq 'Get-Command' -or
            ($name -eq 'Get-Item' -and $Script.name -like '*/windows/files.ps1') -or
            $Script.name -like '*/windows/diagnosis.ps1' -or
            $parent.Parent.Extent.Text -match '^\$ProgressPreference\s*='
        if (-not $isKnown) {
            New-Finding -Script $Script -Node $node -Text 'a failure is taken for absence: Get-Existing names it'
        }
    }
}

# Loops that wait for a time of day. The clock of a clone is set while it starts, often by hours: the hardware's
# clock has UTC where Windows expects local time (`real_time_clock_utc` of
# https://cloudbase-init.readthedocs.io/en/latest/config.html).
function Find-AwaitedTime {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in $Script.nodes) {
        if ($node -isnot [Management.Automation.Language.LoopStatementAst] -or -not $node.Condition) { continue }
        if ($node.Condition.Extent.Text -match '\[DateTime\]|Get-Date') {
            New-Finding -Script $Script -Node $node -Text 'a Stopwatch counts on when the clock is set'
        }
    }
}

# What a step sets in Packer's session though Windows refuses it there.
function Find-NetworkSession {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($name in $script:OfSystem) {
        if ($Script.text.Contains($name) -and -not $Script.text.Contains("'S-1-5-18'")) {
            "$($Script.name): ${name} is refused in a session of the network: run it as SYSTEM"
        }
    }
}

# Texts of kept.json that a script has lost: each was missing once, and no case can show it.
function Find-Lost {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Folder, [Parameter(Mandatory)] [object[]] $Kept)
    foreach ($one in $Kept) {
        if (-not [IO.File]::ReadAllText("$Folder/$($one.file)").Contains($one.text)) {
            "$($one.file): no ``$($one.text)``: $($one.without)"
        }
    }
}

Export-ModuleMember -Function 'Find-Syntax', 'Find-Layout', 'Find-Refused', 'Find-Swallowed',
    'Find-AwaitedTime', 'Find-NetworkSession', 'Find-Lost'

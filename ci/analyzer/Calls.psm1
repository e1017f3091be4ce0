# What scripts call and read: commands and parameters that are there, functions and variables that are visible.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

# They guess encodings and folders, or give no exit code; the engine has functions of its own in their place.
$script:Forbidden = 'Invoke-WebRequest', 'Invoke-RestMethod', 'Expand-Archive', 'Start-Process'

# Modules that PowerShell 7 has on every system, without their commands that only Windows has.
$script:Neutral = 'Microsoft.PowerShell.Core', 'Microsoft.PowerShell.Management', 'Microsoft.PowerShell.Utility'
$script:WindowsNouns = '-(Service|Computer|WmiObject|EventLog|HotFix|WmiMethod|WmiInstance|Transaction|TimeZone|' +
    'ControlPanelItem|PSSessionConfiguration)$'
$script:WindowsTexts = 'hklm:', 'hkcu:', 'wsman:', 'cert:', 'win32_', '.exe', 'registry::'
# What must be asked before any other script may be loaded, the platform's among them.
$script:BeforeLoading = 'Get-AuthenticodeSignature', 'Get-ExecutionPolicy'

# Of about_Automatic_Variables, and preferences that each scope has.
$script:Automatic = @(
    '_', 'Args', 'Error', 'Event', 'EventArgs', 'EventSubscriber', 'ExecutionContext', 'False', 'ForEach', 'Home',
    'Host', 'Input', 'LastExitCode', 'Matches', 'MyInvocation', 'NestedPromptLevel', 'OFS', 'PID', 'Profile',
    'PSBoundParameters', 'PSCmdlet', 'PSCommandPath', 'PSCulture', 'PSEdition', 'PSHOME', 'PSScriptRoot',
    'PSUICulture', 'PSVersionTable', 'Sender', 'ShellId', 'StackTrace', 'Switch', 'This', 'True', 'Null', 'PWD',
    'ErrorActionPreference', 'ProgressPreference', '^', '$', '?'
)

# Commands that are not there, parameters that are not there or abbreviated, values without a parameter, and
# parameters that are missing.
function Find-Call {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [hashtable] $Known)
    foreach ($node in Select-Node -Script $Script -Type 'CommandAst') {
        $name = $node.GetCommandName()
        $called = $node.CommandElements[0].Extent.Text
        # A file of ours by its path, and a caller's block.
        $isOwn = $called -match '^"\$(PSScriptRoot|Destination)/[\w./-]+\.ps1"$' -or
            $called -match '^"[GS]et-\$\{' -or
            $called -in '$Platform', '$file.FullName', '$Action', '$Body'
        if ($isOwn) { continue }
        if ("$($node.InvocationOperator)" -ne 'Unknown' -or -not $name) {
            New-Finding -Script $Script -Node $node -Text "``$called`` is run directly"
            continue
        }
        if ($name -in $script:Forbidden) { New-Finding -Script $Script -Node $node -Text "$name is not used here" }
        # The grammar of a name allows that of its module before it.
        $bare = $name.Split('\')[-1]
        $isFunction = $Known.functions.ContainsKey($bare)
        $declared = @(if ($isFunction) { $Known.functions[$bare] } else { $Known.commands[$bare] })
        if (-not $isFunction -and -not $Known.commands.ContainsKey($bare)) {
            New-Finding -Script $Script -Node $node -Text "$name is no command of 5.1 and no function here"
            continue
        }
        Find-Argument -Script $Script -Node $node -Declared $declared -Common $Known.common
    }
    foreach ($function in $Script.functions) {
        if ($Known.commands.ContainsKey($function.Name)) {
            New-Finding -Script $Script -Node $function -Text "function $($function.Name) hides a command of 5.1"
        }
    }
}

function Find-Argument {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] $Script,
        [Parameter(Mandatory)] $Node,
        [Parameter(Mandatory)] [AllowEmptyCollection()] [AllowNull()] [object[]] $Declared,
        [Parameter(Mandatory)] [object[]] $Common
    )
    $name = $Node.GetCommandName()
    $given = [Collections.Generic.List[string]]::new()
    $wantsValue = $isSplatted = $false
    foreach ($element in $Node.CommandElements | Select-Object -Skip 1) {
        $isSplat = $element -is [Management.Automation.Language.VariableExpressionAst] -and $element.Splatted
        if ($element -is [Management.Automation.Language.CommandParameterAst]) {
            $null = $given.Add($element.ParameterName)
            $found = @(@($Declared) + $Common | Where-Object -FilterScript { $_ -and
                $_.name -eq $element.ParameterName })
            if (-not $found.Count) {
                $text = "$name has no parameter -$($element.ParameterName)"
                New-Finding -Script $Script -Node $element -Text $text
            }
            $wantsValue = -not $element.Argument -and -not ($found.Count -and $found[0].switch)
        } elseif ($isSplat) {
            $isSplatted = $true
        } elseif ($wantsValue) {
            $wantsValue = $false
        } elseif ($name -notin 'Where-Object', 'ForEach-Object' -or
            $element -isnot [Management.Automation.Language.ScriptBlockExpressionAst]) {
            $text = $element.Extent.Text
            New-Finding -Script $Script -Node $element -Text "positional argument $text of $name"
        }
    }
    foreach ($one in $Declared) {
        if ($one -and $one.mandatory -and -not $isSplatted -and $one.name -notin $given) {
            New-Finding -Script $Script -Node $Node -Text "$name needs -$($one.name)"
        }
    }
}

# Commands and words of Windows outside of `engine/windows`, for which the simulation has nothing.
function Find-Windows {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [hashtable] $Known)
    if ($Script.isPlatform) { return }
    foreach ($node in Select-Node -Script $Script -Type 'CommandAst') {
        $name = $node.GetCommandName()
        if (-not $name -or ($Script.name.EndsWith('/Invoke-Plan.ps1') -and
            $name -in $script:BeforeLoading)) { continue }
        $module = $Known.modules[$name]
        if ($module -and ($module -notin $script:Neutral -or $name -match $script:WindowsNouns)) {
            New-Finding -Script $Script -Node $node -Text "$name is for engine/windows"
        }
    }
    foreach ($node in Select-Node -Script $Script -Type 'StringConstantExpressionAst',
        'ExpandableStringExpressionAst') {
        if ("$($node.StringConstantType)" -eq 'BareWord') { continue }
        foreach ($word in $script:WindowsTexts) {
            if ($node.Extent.Text.ToLowerInvariant().Contains($word)) {
                New-Finding -Script $Script -Node $node -Text "$word is for engine/windows"
            }
        }
    }
}

# Functions of ours that a script calls without having defined, loaded or imported them.
function Find-Invisible {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [object[]] $All)
    $own = @($All | ForEach-Object -Process { $_.functions } | ForEach-Object -Process { $_.Name })
    $parts = @{}
    $inner = foreach ($script in $All) {
        $parts[$script.name] = @(Get-Loaded -Script $script -All $All)
        $parts[$script.name] | Where-Object -FilterScript { $_ -ne $script } | ForEach-Object -Process { $_.name }
    }
    foreach ($entry in $All | Where-Object -FilterScript { $_.name -notin $inner }) {
        $visible = [Collections.Generic.HashSet[string]]::new([StringComparer]::OrdinalIgnoreCase)
        foreach ($part in $parts[$entry.name]) {
            foreach ($function in $part.functions) { $null = $visible.Add($function.Name) }
            foreach ($module in $All | Where-Object -FilterScript { $_.name.EndsWith('.psm1') }) {
                $file = $module.name.Split('/')[-1]
                if (-not $part.text.Contains("Import-Module -Name `"`$PSScriptRoot/$file")) { continue }
                foreach ($list in [regex]::Matches($module.text, '(?m)^Export-ModuleMember(?s:.*?)(?=^\S|\z)')) {
                    foreach ($name in [regex]::Matches($list.Value,
                        "'([^']+)'")) { $null = $visible.Add($name.Groups[1].Value) }
                }
            }
        }
        foreach ($part in $parts[$entry.name]) {
            foreach ($node in Select-Node -Script $part -Type 'CommandAst') {
                $name = $node.GetCommandName()
                if ($name -and $name -in $own -and -not $visible.Contains($name)) {
                    New-Finding -Script $part -Node $node -Text "$name is not visible in $($entry.name)"
                }
            }
        }
    }
}

# Names to which a script gives values, each with the function that it does so in.
function Get-Assigned {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'AssignmentStatementAst', 'ForEachStatementAst',
        'ParameterAst') {
        $targets = switch ($node.GetType().Name) {
            'AssignmentStatementAst' {
                $node.Left.FindAll({ $args[0].GetType().Name -eq 'VariableExpressionAst' }, $true)
            }
            'ForEachStatementAst' { $node.Variable }
            default { $node.Name }
        }
        $owner = Get-Owner -Node $node
        foreach ($target in $targets) { @{ name = $target.VariablePath.UserPath; owner = $owner } }
    }
}

# Variables that nobody sets, which strict mode refuses: neither their function nor the script, nor one that loads
# it.
function Find-Unset {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [string[]] $Given = @())
    $assigned = @(Get-Assigned -Script $Script)
    foreach ($node in Select-Node -Script $Script -Type 'VariableExpressionAst') {
        $name = $node.VariablePath.UserPath
        if ($name.Contains(':') -or $name -in $script:Automatic -or $name -in $Given) { continue }
        $owner = Get-Owner -Node $node
        $isSet = $false
        foreach ($one in $assigned) {
            if ($one.name -eq $name -and (-not $one.owner -or $one.owner -eq $owner)) { $isSet = $true; break }
        }
        if (-not $isSet) { New-Finding -Script $Script -Node $node -Text "`$$name is never set" }
    }
}

# Parameters that nobody reads. A setter declares each field of its type, and bound parameters are read as a whole.
function Find-Unread {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($function in $Script.functions) {
        $text = $function.Body.Extent.Text
        if ($function.Name -like '*Resource' -or $text.Contains('PSBoundParameters')) { continue }
        $read = @($function.Body.FindAll({ $args[0].GetType().Name -eq 'VariableExpressionAst' }, $true) |
                Where-Object -FilterScript { $_.Parent.GetType().Name -ne 'ParameterAst' } |
                ForEach-Object -Process { $_.VariablePath.UserPath })
        foreach ($one in Get-Declared -Function $function) {
            if ($one.name -notin $read) {
                $text = "`$$($one.name) of $($function.Name) is never read"
                New-Finding -Script $Script -Node $function -Text $text
            }
        }
    }
}

# Facts of a node that a script reads and no template writes; under strict mode a missing one is an error.
function Find-Fact {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [string] $Template)
    $written = @([regex]::Matches($Template, '(?m)^([^=\r\n]+)=') | ForEach-Object -Process { $_.Groups[1].Value })
    foreach ($node in Select-Node -Script $Script -Type 'MemberExpressionAst') {
        $fact = $node.Member.Extent.Text
        if ($node.Expression.Extent.Text -eq '$facts' -and $fact -cnotin $written) {
            New-Finding -Script $Script -Node $node -Text "node.conf has no $fact"
        }
    }
}

Export-ModuleMember -Function 'Find-Call', 'Find-Windows', 'Find-Invisible', 'Get-Assigned', 'Find-Unset',
    'Find-Unread', 'Find-Fact'

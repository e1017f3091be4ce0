# Traps that parse everywhere and fail in Windows PowerShell 5.1, under strict mode, or in the scope that a script
# really runs in. No rule of PSScriptAnalyzer finds them.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

# Words before a colon that are a scope or a drive of variables: about_Scopes and about_Variables.
$script:Scopes = 'env', 'script', 'global', 'local', 'private', 'using', 'function', 'variable'

# Commands that give one object or throw, so that its properties may be read at once.
$script:Gives = @(
    'ConvertFrom-Json', 'Get-Acl', 'Get-AssertionResource', 'Get-CimInstance', 'Get-ClusterObject', 'Get-Date',
    'Get-Declaration', 'Get-FileHash', 'Get-Item', 'Get-Machine', 'Get-ScheduledTaskInfo', 'Get-Simulation',
        'Invoke-CimMethod', 'Invoke-Native',
    'Invoke-NodeProgram', 'Invoke-Program', 'Invoke-ScriptText', 'Get-Location', 'Invoke-UpdateAgent',
    'Join-Argument', 'New-Object', 'Protect-Text', 'Read-Argument', 'Read-NodeText', 'Split-Path',
    'Wait-NodeNetwork'
)

# Modules of functions (CDXML or script), which see the global preference and not the caller's: PowerShell#4568,
# #24389. `CommandType` in the source of the fixture says which modules these are.
$script:FunctionModules = @(
    'BitLocker', 'Defender', 'DnsClient', 'EventTracingManagement', 'MMAgent', 'Microsoft.PowerShell.Archive',
    'NetAdapter', 'NetConnection', 'NetNat', 'NetQos', 'NetSecurity', 'NetTCPIP', 'PnpDevice', 'ScheduledTasks',
    'SmbShare', 'Storage'
)
# Functions among the cmdlets of Microsoft.PowerShell.Utility.
$script:Functions = @(
    'ConvertFrom-SddlString', 'Format-Hex', 'Get-FileHash', 'Import-PowerShellDataFile', 'New-Guid',
    'New-TemporaryFile'
)

# Methods that give nothing. `Add` and `Remove` of some lists do give something.
$script:Void = @(
    'AppendAllText', 'AppendChar', 'Close', 'Copy', 'CopyTo', 'CreateFromDirectory', 'Delete', 'DeleteValue',
    'Dispose', 'ExtractToDirectory', 'ExtractToFile', 'HNSCall', 'Kill', 'Move', 'MoveFile', 'Open', 'Restart',
    'Reverse', 'SetAttributes', 'SetCurrentDirectory', 'SetEnvironmentVariable', 'SetLastWriteTimeUtc',
        'SetSecurityDescriptorSddlForm',
    'Start', 'Write', 'WriteAllBytes', 'WriteAllText', 'WriteLine'
)

# Forms that hide a failure or an unknown name.
function Find-Form {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    $newer = 'IsWindows', 'IsLinux', 'IsMacOS', 'IsCoreCLR', 'PSNativeCommandUseErrorActionPreference'
    foreach ($node in Select-Node -Script $Script -Type 'VariableExpressionAst') {
        $name = $node.VariablePath.UserPath
        if ($name -eq '?') { New-Finding -Script $Script -Node $node -Text '`$?` is no way to learn of a failure' }
        if ($name -in $newer) { New-Finding -Script $Script -Node $node -Text "`$$name is not in 5.1" }
    }
    foreach ($function in $Script.functions) {
        $block = $function.Body.ParamBlock
        $names = if ($block) { @($block.Attributes | ForEach-Object -Process { $_.TypeName.Name }) }
        if ($block -and $block.Parameters.Count -and 'CmdletBinding' -notin $names) {
            $text = 'without CmdletBinding an unknown parameter is ignored'
            New-Finding -Script $Script -Node $function -Text $text
        }
        # PSUseSingularNouns is a rule of the analyzer in Windows PowerShell alone.
        if ($function.Name -cmatch '[^sui]s$') {
            New-Finding -Script $Script -Node $function -Text "$($function.Name) is a plural"
        }
    }
    foreach ($token in $Script.tokens) {
        if ("$($token.Kind)" -eq 'LineContinuation') {
            New-Finding -Script $Script -Node $token.Extent -Text 'line continued with a backtick'
        }
    }
}

# `"$name:text"` is a variable of the drive `name`.
function Find-Drive {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'VariableExpressionAst') {
        $parts = $node.VariablePath.UserPath.Split(':')
        if ($parts.Count -gt 1 -and $parts[0] -notin $script:Scopes) {
            New-Finding -Script $Script -Node $node -Text "`$$($parts[0]): is a drive, write `${$($parts[0])}:"
        }
    }
}

# Empty while defaults of a script that `-File` starts are evaluated: PowerShell#4688.
function Find-Default {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    $block = $Script.tree.ParamBlock
    if (-not $block) { return }
    foreach ($name in '$PSScriptRoot', '$PSCommandPath', '$MyInvocation') {
        if ($block.Extent.Text.Contains($name)) {
            New-Finding -Script $Script -Node $block -Text "$name in param is empty under -File"
        }
    }
}

# At script level `$x` and `$script:X` are one variable.
function Find-Collision {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [object[]] $Loaded)
    $shared = foreach ($one in $Loaded) {
        foreach ($node in Select-Node -Script $one -Type 'VariableExpressionAst') {
            if ($node.VariablePath.IsScript) { $node.VariablePath.UserPath.Split(':')[1] }
        }
    }
    foreach ($node in Select-Node -Script $Script -Type 'AssignmentStatementAst', 'ForEachStatementAst') {
        $isLoop = $node -is [Management.Automation.Language.ForEachStatementAst]
        $target = if ($isLoop) { $node.Variable } else { $node.Left }
        $name = $target.Extent.Text
        if ($name.TrimStart('$') -in $shared -and -not (Get-Owner -Node $node)) {
            New-Finding -Script $Script -Node $node -Text "$name at script level is a `$script: variable"
        }
    }
}

# A command that gave nothing is `$null`, and under strict mode `$null` has no property.
function Find-Member {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'ParenExpressionAst') {
        $parent = $node.Parent
        $read = switch ($parent.GetType().Name) {
            'IndexExpressionAst' { $parent.Target }
            { $_ -in 'MemberExpressionAst', 'InvokeMemberExpressionAst' } { $parent.Expression }
            default { $null }
        }
        if ($read -ne $node -or $node.Pipeline -isnot [Management.Automation.Language.PipelineAst]) { continue }
        $last = $node.Pipeline.PipelineElements[-1]
        if ($last -isnot [Management.Automation.Language.CommandAst]) { continue }
        $name = $last.GetCommandName()
        if ($name -and $name -notin $script:Gives) {
            New-Finding -Script $Script -Node $node -Text "$name may give nothing: assign and ask first"
        }
    }
}

# Functions of modules get `-ErrorAction` in each call: without it they go on after an error.
function Find-Preference {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [hashtable] $Known)
    foreach ($node in Select-Node -Script $Script -Type 'CommandAst') {
        $name = $node.GetCommandName()
        if (-not $name) { continue }
        $module = $Known.modules[$name]
        if ($name -notlike '*-Hns*' -and $name -notin $script:Functions -and
            $module -notin $script:FunctionModules) {
            continue
        }
        # Absence is an answer of a Get or a Find, never of another verb.
        $text = $node.Extent.Text
        $quiet = $name -match '^(Get|Find)-' -and $text -match '-ErrorAction SilentlyContinue'
        if (-not $quiet -and $text -notmatch '-ErrorAction Stop') {
            New-Finding -Script $Script -Node $node -Text "$name needs -ErrorAction Stop"
        }
    }
}

# What a statement gives and nobody takes is given by its function, before what it should give.
function Find-Leak {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [hashtable] $Known)
    foreach ($node in Select-Node -Script $Script -Type 'PipelineAst') {
        $list = $node.Parent
        $holds = $list.GetType().Name -in 'StatementBlockAst', 'NamedBlockAst'
        if (-not $holds -or $node.PipelineElements.Count -ne 1 -or $list.Statements[-1] -eq $node) { continue }
        $element = $node.PipelineElements[0]
        $name = $null
        if ($element -is [Management.Automation.Language.CommandAst]) {
            $called = $element.GetCommandName()
            if ($called -match '^(New|Register)-' -and $Known.commands.ContainsKey($called)) { $name = $called }
        } elseif ($element.Expression -is [Management.Automation.Language.InvokeMemberExpressionAst]) {
            $member = $element.Expression.Member.Extent.Text
            if ($member -cnotin $script:Void) { $name = $member }
        }
        if ($name -and (Get-Owner -Node $node)) {
            New-Finding -Script $Script -Node $node -Text "$name gives something that nobody takes"
        }
    }
}

# A value of the plan between quotes could end them: it is a literal of its own, `{{ value | literal }}`.
function Find-QuotedValue {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script)
    foreach ($node in Select-Node -Script $Script -Type 'StringConstantExpressionAst',
        'ExpandableStringExpressionAst') {
        if ("$($node.StringConstantType)" -ne 'BareWord' -and $node.Extent.Text.Contains('{{')) {
            New-Finding -Script $Script -Node $node -Text 'a value of the plan inside quotes'
        }
    }
    foreach ($value in [regex]::Matches($Script.text, '\{\{(?s:.*?)\}\}')) {
        if (-not $value.Value.Contains('| literal')) { "$($Script.name): $($value.Value) without ``| literal``" }
    }
}

Export-ModuleMember -Function 'Find-Form', 'Find-Drive', 'Find-Default', 'Find-Collision', 'Find-Member',
    'Find-Preference', 'Find-Leak', 'Find-QuotedValue'

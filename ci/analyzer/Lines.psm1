# Command lines of Windows' own programs, held against the forms that their documents have.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

# The words of an expression; `{}` is what only a run knows.
function Get-Word {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Node, [Parameter(Mandatory)] [hashtable] $Known)
    $parts = switch ($Node.GetType().Name) {
        'StringConstantExpressionAst' { return $Node.Value }
        'CommandParameterAst' { return $Node.Extent.Text }
        'ExpandableStringExpressionAst' {
            $text = $Node.Value
            foreach ($inner in $Node.NestedExpressions) { $text = $text.Replace($inner.Extent.Text, '{}') }
            return $text
        }
        'VariableExpressionAst' {
            $name = $Node.VariablePath.UserPath
            if ($Known.ContainsKey($name)) { return $Known[$name] }
        }
        'ArrayLiteralAst' { $Node.Elements }
        'ArrayExpressionAst' { $Node.SubExpression.Statements }
        'ParenExpressionAst' { $Node.Pipeline }
        'PipelineAst' { if ($Node.PipelineElements.Count -eq 1) { $Node.PipelineElements } }
        'CommandExpressionAst' { $Node.Expression }
        'BinaryExpressionAst' { if ("$($Node.Operator)" -eq 'Plus') { $Node.Left, $Node.Right } }
    }
    if (-not $parts) { return '{}' }
    foreach ($part in $parts) { Get-Word -Node $part -Known $Known }
}

# The name of a program that an expression ends in.
function Get-ProgramName {
    [CmdletBinding()]
    param($Node)
    if ($Node -and $Node.Extent.Text -match '\\([A-Za-z]+\.exe)"$') { $Matches[1] }
}

# Adds to a list: `$arguments += ...` in an `if` is one of two forms, in a loop it is none.
function Set-Known {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Node, [Parameter(Mandatory)] [hashtable] $Known)
    $name = $Node.Left.VariablePath.UserPath
    $words = @(Get-Word -Node $Node.Right -Known $Known)
    if ("$($Node.Operator)" -eq 'PlusEquals') {
        if ($Node.Parent.Parent -is [Management.Automation.Language.LoopStatementAst]) { return }
        $words = @($Known[$name]) + $words
    }
    $Known[$name] = $words
}

# What a command passes to the program among its words.
function Get-Passed {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Node, [Parameter(Mandatory)] [hashtable] $Known)
    $elements = @($Node.CommandElements)
    if (Get-ProgramName -Node $elements[0]) {
        foreach ($element in $elements | Select-Object -Skip 1) {
            if ($element -is [Management.Automation.Language.FileRedirectionAst]) { continue }
            $words = @(Get-Word -Node $element -Known $Known)
            # A variable is one word, whatever a run puts into it.
            $isOne = $element -is [Management.Automation.Language.VariableExpressionAst] -and -not $element.Splatted
            if ($isOne -and ($words.Count -ne 1 -or $words[0].Contains(' '))) { '{}' } else { $words }
        }
        return
    }
    for ($at = 1; $at -lt $elements.Count - 1; $at++) {
        if ($elements[$at].Extent.Text -in '-Arguments', '-ArgumentLine') {
            return @(Get-Word -Node $elements[$at + 1] -Known $Known)
        }
    }
}

# Command lines below a node, in order: name of the program, and its words.
function Get-ProgramLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Tree)
    $known = @{}
    $waiting = $null
    foreach ($node in $Tree.FindAll({ $true }, $true)) {
        $program = $words = $null
        switch ($node.GetType().Name) {
            'AssignmentStatementAst' {
                if ($node.Left -isnot [Management.Automation.Language.VariableExpressionAst]) { continue }
                $named = Get-ProgramName -Node $node.Right
                if ($named -and $node.Left.Extent.Text -eq '$program') { $waiting = $named; continue }
                Set-Known -Node $node -Known $known
                if ($waiting -and $node.Left.Extent.Text -in '$line', '$arguments') {
                    $program, $waiting = $waiting, $null
                    $words = $known[$node.Left.VariablePath.UserPath]
                }
            }
            'HashtableAst' {
                $pairs = @{}
                foreach ($pair in $node.KeyValuePairs) { $pairs[$pair.Item1.Extent.Text] = $pair.Item2 }
                if (-not $pairs.ContainsKey('program')) { continue }
                $program = Get-ProgramName -Node $pairs.program
                if ($program) { $words = @(Get-Word -Node $pairs.arguments -Known $known) }
            }
            'CommandAst' {
                $program = foreach ($element in $node.CommandElements) { Get-ProgramName -Node $element }
                if ($program) { $words = @(Get-Passed -Node $node -Known $known) }
            }
        }
        if ($program -and $words) { @{ program = $program; line = $words -join ' '; node = $node } }
    }
}

# Lines that no documented form of their program allows. `{}` of a form is one word or a part of one.
function Find-Line {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] $Grammar)
    $trees = @(if ($Script.functions.Count) { $Script.functions } else { $Script.tree })
    foreach ($tree in $trees) {
        foreach ($line in Get-ProgramLine -Tree $tree) {
            $forms = @()
            if ($Grammar.PSObject.Properties[$line.program]) { $forms = $Grammar.($line.program).lines }
            $isKnown = $forms | Where-Object -FilterScript {
                $line.line -cmatch "^$([regex]::Escape($_).Replace('\{}', '\S+'))$"
            }
            if (-not $isKnown) {
                New-Finding -Script $Script -Node $line.node -Text "$($line.program) $($line.line) is no known line"
            }
        }
    }
}

Export-ModuleMember -Function 'Get-ProgramLine', 'Find-Line'

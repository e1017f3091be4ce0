# Scripts as PowerShell's own syntax trees, and what commands and functions declare. The rules beside this file use
# it.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'

$script:Top = [IO.Path]::GetFullPath("$PSScriptRoot/../..")

# A script by its name in the repository. `kind` says which rules it must keep.
function New-Script {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    $tokens = $errors = $null
    $tree = [Management.Automation.Language.Parser]::ParseInput($Text, $Name, [ref]$tokens, [ref]$errors)
    $windows = $Name -match '/engine/(windows/|Windows\.ps1$)'
    $simulated = $Name -match '/guest/(simulated/|Simulated\.ps1$)'
    [pscustomobject]@{
        name = $Name
        text = $Text
        tree = $tree
        tokens = $tokens
        errors = $errors
        nodes = @($tree.FindAll({ $true }, $true))
        functions = @($tree.FindAll({ $args[0] -is [Management.Automation.Language.FunctionDefinitionAst] },
            $true))
        isPlatform = $windows
        isSimulation = $simulated
        isSuite = $Name -match '^tests/guest/real'
        # Cases of the simulation, and what they load: they are executed, and a run shows what a rule would guess.
        isCase = $Name -match '^tests/guest/(world|matrix)/|\.Tests\.ps1$'
    }
}

function Read-Script {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Folder)
    $files = Get-ChildItem -LiteralPath "$script:Top/$Folder" -Recurse -File |
        Where-Object -FilterScript { $_.Extension -in '.ps1', '.psm1' } | Sort-Object -Property FullName
    foreach ($file in $files) {
        $name = $file.FullName.Substring($script:Top.TrimEnd('/', '\').Length + 1).Replace('\', '/')
        New-Script -Name $name -Text ([IO.File]::ReadAllText($file.FullName))
    }
}

# Nodes of a type, parents before children.
function Select-Node {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [string[]] $Type)
    foreach ($node in $Script.nodes) {
        if ($node.GetType().Name -in $Type) { $node }
    }
}

function New-Finding {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] $Node, [Parameter(Mandatory)] [string] $Text)
    $extent = if ($Node -is [Management.Automation.Language.Ast]) { $Node.Extent } else { $Node }
    "$($Script.name):$($extent.StartLineNumber): $Text"
}

# The function that a node stands in; nothing in the body of a script.
function Get-Owner {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Node)
    $parent = $Node.Parent
    while ($parent -and $parent -isnot [Management.Automation.Language.FunctionDefinitionAst]) {
        $parent = $parent.Parent
    }
    $parent
}

# Name, text, and whether it is a switch or mandatory, of each parameter of a function.
function Get-Declared {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Function)
    if (-not $Function.Body.ParamBlock) { return }
    foreach ($one in $Function.Body.ParamBlock.Parameters) {
        $text = $one.Extent.Text
        @{
            name = $one.Name.VariablePath.UserPath
            text = $text
            switch = $one.StaticType -eq [switch]
            mandatory = $text -match '\bMandatory\b'
        }
    }
}

# Functions of scripts and commands of 5.1, by name, each with its parameters. Names have no case.
function Get-Known {
    [CmdletBinding()]
    param([object[]] $Script = @())
    $json = [IO.File]::ReadAllText("$script:Top/tests/fixtures/powershell-5.1-commands.json") | ConvertFrom-Json
    $read = {
        param($Names)
        foreach ($name in $Names -split ' ' | Where-Object -FilterScript { $_ }) {
            @{ name = $name.TrimEnd('?'); switch = $name.EndsWith('?'); mandatory = $false }
        }
    }
    $known = @{ functions = @{}; commands = @{}; modules = @{}; common = @(& $read $json.commonParameters) }
    foreach ($module in $json.modules.PSObject.Properties) {
        foreach ($command in $module.Value.PSObject.Properties) {
            $known.commands[$command.Name] = @(& $read $command.Value)
            $known.modules[$command.Name] = $module.Name
        }
    }
    foreach ($one in $Script) {
        foreach ($function in $one.functions) {
            $known.functions[$function.Name] = @(Get-Declared -Function $function)
        }
    }
    $known
}

# What a script loads by a dot, or runs its block in, itself included.
function Get-Loaded {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Script, [Parameter(Mandatory)] [object[]] $All)
    $found = [Collections.Generic.List[object]]@($Script)
    for ($at = 0; $at -lt $found.Count; $at++) {
        $loader = $found[$at]
        foreach ($node in Select-Node -Script $loader -Type 'CommandAst') {
            $called = $node.CommandElements[0].Extent.Text.Trim('"')
            # `Start.ps1` runs its caller's block where it has loaded everything.
            if ("$($node.InvocationOperator)" -ne 'Dot' -and -not $called.EndsWith('/Start.ps1')) { continue }
            $wanted = switch -CaseSensitive ($called) {
                '$Platform' { { param($it) $it.isPlatform -or $it.isSimulation } }
                '$file.FullName' {
                    if ($loader.isPlatform) { { param($it) $it.isPlatform } }
                    elseif ($loader.isSimulation) { { param($it) $it.isSimulation } }
                    else { { param($it) $it.name.Contains('/resources/') } }
                }
                default { { param($it) $it.name.EndsWith("/$($called.Split('/')[-1])") } }
            }
            foreach ($other in $All) {
                if ((& $wanted $other) -and -not $found.Contains($other)) { $found.Add($other) }
            }
        }
    }
    $found
}

Export-ModuleMember -Function 'New-Script', 'Read-Script', 'Select-Node', 'New-Finding', 'Get-Owner',
    'Get-Declared',
    'Get-Known', 'Get-Loaded'

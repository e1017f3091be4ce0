# Desired and actual state of a resource, and how they differ. Loaded by Engine.psm1.

# One level of an object as the hashtable that splatting needs.
function ConvertTo-Splat {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $InputObject)
    $table = @{}
    foreach ($property in $InputObject.PSObject.Properties) { $table[$property.Name] = $property.Value }
    $table
}

# One text per value, so that 1 and "1" are equal, and "a,b" and ["a", "b"] are not.
function ConvertTo-Canonical {
    [CmdletBinding()]
    param($Value, [switch] $Nested)
    if ($null -eq $Value) { return 'null' }
    if ($Value -is [bool]) { return $Value.ToString().ToLowerInvariant() }
    if ($Value -is [string] -or $Value -is [ValueType]) {
        $text = [string]::Format([cultureinfo]::InvariantCulture, '{0}', $Value)
        if ($Nested) { return "'" + $text.Replace("'", "''") + "'" }
        return $text
    }
    if ($Value -is [Collections.IDictionary]) {
        $pairs = foreach ($key in @($Value.Keys | Sort-Object)) {
            '{0}={1}' -f $key, (ConvertTo-Canonical -Value $Value[$key] -Nested)
        }
        return '{' + (@($pairs) -join '; ') + '}'
    }
    if ($Value -is [Collections.IEnumerable]) {
        $items = foreach ($item in $Value) { ConvertTo-Canonical -Value $item -Nested }
        return '[' + (@($items) -join ', ') + ']'
    }
    ConvertTo-Canonical -Value (ConvertTo-Splat -InputObject $Value)
}

# The differences between desired and actual. What Get does not report (an URL) is not compared.
function Compare-State {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Desired, [Parameter(Mandatory)] [hashtable] $Actual)
    foreach ($name in @($Desired.Keys | Sort-Object)) {
        if (-not $Actual.ContainsKey($name)) { continue }
        $expected = ConvertTo-Canonical -Value $Desired[$name]
        $found = ConvertTo-Canonical -Value $Actual[$name]
        if ($expected -cne $found) { [ordered]@{ property = $name; expected = $expected; actual = $found } }
    }
}

# What functions declare, by their names: a plan asks it of each resource.
$script:Declarations = @{}

# The parameters that a resource function declares: name to whether it is mandatory; $null without the function.
function Get-Declaration {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Verb, [Parameter(Mandatory)] [string] $Type)
    $name = "$Verb-${Type}Resource"
    if ($script:Declarations.ContainsKey($name)) { return $script:Declarations[$name] }
    $command = $ExecutionContext.InvokeCommand.GetCommand($name, 'Function')
    if ($null -eq $command) { return $null }
    $declared = @{}
    foreach ($parameter in $command.ScriptBlock.Ast.Body.ParamBlock.Parameters) {
        $own = $parameter.Name.VariablePath.UserPath
        $declared[$own] = $false
        foreach ($rule in $parameter.Attributes) {
            if ("$($rule.TypeName)" -ne 'Parameter') { continue }
            foreach ($given in $rule.NamedArguments) {
                if ($given.ArgumentName -eq 'Mandatory') { $declared[$own] = $true }
            }
        }
    }
    $script:Declarations[$name] = $declared
    $declared
}

function Get-ResourceDifference {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Type, [Parameter(Mandatory)] [hashtable] $Properties)
    $declared = Get-Declaration -Verb 'Get' -Type $Type
    $inputs = @{}
    foreach ($name in $Properties.Keys) {
        if ($declared.ContainsKey($name)) { $inputs[$name] = $Properties[$name] }
    }
    Compare-State -Desired $Properties -Actual (& "Get-${Type}Resource" @inputs)
}

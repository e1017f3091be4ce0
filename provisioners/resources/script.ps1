# What no other type can say. The test prints what is now and changes nothing.
function Get-scriptResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $test)
    @{ expected = (Invoke-ScriptText -Text $test).Trim() }
}

function Set-scriptResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $test, [Parameter(Mandatory)] [string] $expected,
        [Parameter(Mandatory)] [string] $set)
    $null = Invoke-ScriptText -Text $set
}

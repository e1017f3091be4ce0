# What no other type can say. The test prints what is now and changes nothing.
function Get-scriptResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $test)
    @{ expected = (Invoke-ScriptText -Text $test).Trim() }
}

function Set-scriptResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $test, [Parameter(Mandatory)] [AllowEmptyString()] [string] $expected,
        [Parameter(Mandatory)] [string] $set)
    # What it tells with our name in front is told of the run.
    foreach ($line in (Invoke-ScriptText -Text $set) -split "`n") {
        if ($line -match '^imagegen: (.+)$') { Write-Line -Text ($Matches[1].Trim()) }
    }
}

# Something that Microsoft Defender leaves alone. A machine without Defender fails: the plan is of another one.
function Get-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value)
    if (@(Get-DefenderExclusion -Kind $kind) -contains $value) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

function Set-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value,
        [Parameter(Mandatory)] [string] $ensure)
    Set-DefenderExclusion -Kind $kind -Value $value -Present ($ensure -eq 'present')
}

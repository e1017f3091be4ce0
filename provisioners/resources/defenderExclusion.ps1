# Something that Microsoft Defender leaves alone. Where Defender was removed it leaves everything alone.
function Get-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value)
    if (-not (Test-Defender)) { return @{ kind = $kind } }
    if (@(Get-DefenderExclusion -Kind $kind) -contains $value) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

function Set-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value,
        [Parameter(Mandatory)] [string] $ensure)
    Set-DefenderExclusion -Kind $kind -Value $value -Present ($ensure -eq 'present')
}

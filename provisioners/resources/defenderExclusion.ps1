# Something that Microsoft Defender leaves alone. Where Defender was removed it leaves everything alone. Hardening
# guides ask for a policy (HideExclusionsFromLocalAdmins, DISA STIG V-278658) that makes the list one text with
# N/A: in front: what was set stands in the record.
function Get-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value)
    if (-not (Test-Defender)) { return @{ kind = $kind } }
    $found = @(Get-DefenderExclusion -Kind $kind)
    if ($found -contains $value) { return @{ ensure = 'present' } }
    $record = Read-Record
    if ("$found" -like 'N/A:*' -and $null -ne $record) { return @{ ensure = $record.ensure } }
    @{ ensure = 'absent' }
}

function Set-defenderExclusionResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $kind, [Parameter(Mandatory)] [string] $value,
        [Parameter(Mandatory)] [string] $ensure)
    Set-DefenderExclusion -Kind $kind -Value $value -Present ($ensure -eq 'present')
    Write-Record -Record @{ ensure = $ensure }
}

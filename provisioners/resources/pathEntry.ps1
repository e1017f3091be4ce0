# One directory on the machine's PATH. The other entries stay as they are, unexpanded and in their order.
function Read-PathEntry {
    $found = Get-RegistryValue -Key (Get-EnvironmentKey) -Name 'Path'
    if ($null -eq $found) { return }
    $found.data.Split(';') | Where-Object { $_ -ne '' }
}

function Get-pathEntryResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $entry)
    $wanted = $entry.TrimEnd('\')
    $same = @(Read-PathEntry | Where-Object { $_.TrimEnd('\') -eq $wanted })
    if ($same.Count -gt 0) { return @{ ensure = 'present' } }
    @{ ensure = 'absent' }
}

function Set-pathEntryResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $entry, [Parameter(Mandatory)] [string] $ensure)
    $wanted = $entry.TrimEnd('\')
    $entries = @(Read-PathEntry | Where-Object { $_.TrimEnd('\') -ne $wanted })
    if ($ensure -eq 'present') { $entries += $entry }
    Set-RegistryValue -Key (Get-EnvironmentKey) -Name 'Path' -Kind 'ExpandString' -Data ($entries -join ';')
    'restart'
}

# Update packages and the update agent.

function Test-Hotfix {
    [CmdletBinding()]
    param([string] $Kb)
    $null -ne (Get-Simulation -Area 'hotfixes' -Name $Kb)
}

# The update's name is the last word of the package's. `hotfixOutcome` is what comes of every
# package instead, of which the list of updates names none.
function Install-Hotfix {
    [CmdletBinding()]
    param([string] $Package)
    Confirm-Simulation -Ability 'Install-Hotfix'
    $outcome = Get-Simulation -Area 'os' -Name 'hotfixOutcome'
    if ($null -ne $outcome) { return $outcome }
    $name = [IO.Path]::GetFileNameWithoutExtension($Package.Replace('\', '/')).Split('-')[-1]
    Set-Simulation -Area 'hotfixes' -Name $name -Value 'installed'
    'restart'
}

# All is missing until it is installed.
function Invoke-UpdateAgent {
    [CmdletBinding()]
    param([string[]] $Kbs = @(), [string[]] $Categories = @(), [bool] $Install)
    if ($Install) { Confirm-Simulation -Ability 'Invoke-UpdateAgent' }
    $wanted = @($Kbs) + @($Categories)
    if ($Install) { foreach ($name in $wanted) { Set-Simulation -Area 'updates' -Name $name -Value 'installed' } }
    $missing = @($wanted | Where-Object { $null -eq (Get-Simulation -Area 'updates' -Name $_) })
    [pscustomobject]@{ missing = $missing; restart = $Install }
}

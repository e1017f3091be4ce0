# Update packages and the update agent.

function Test-Hotfix {
    [CmdletBinding()]
    param([string] $Kb)
    $null -ne (Get-Simulation -Area 'hotfixes' -Name $Kb)
}

# Windows' own updates of a day, unless they are off. They wait for a restart, and other installations for them.
function Install-OwnUpdate {
    [CmdletBinding()]
    param()
    $key = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'
    $off = Get-RegistryValue -Key $key -Name 'NoAutoUpdate'
    if ($null -ne $off -and $off.data -eq 1) { return }
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
}

# The update's name is the last word of the package's. `hotfixOutcome` is what comes of every package instead, of
# which the list of updates names none. Another installation is in progress for as many tries as `busy` says, and
# while a restart is due.
function Install-Hotfix {
    [CmdletBinding()]
    param([string] $Package)
    Confirm-Simulation -Ability 'Install-Hotfix'
    $busy = [int](Get-Simulation -Area 'os' -Name 'busy')
    if ($busy -gt 0) {
        Set-Simulation -Area 'os' -Name 'busy' -Value ($busy - 1)
        return 'busy'
    }
    if ($null -ne (Get-Simulation -Area 'os' -Name 'pendingRestart')) { return 'busy' }
    $outcome = Get-Simulation -Area 'os' -Name 'hotfixOutcome'
    if ($null -ne $outcome) { return $outcome }
    $name = [IO.Path]::GetFileNameWithoutExtension($Package.Replace('\', '/')).Split('-')[-1]
    Set-Simulation -Area 'hotfixes' -Name $name -Value 'installed'
    'restart'
}

# All is missing until it is installed. One that the area updates calls `never` fails each time, `later` once, and
# `back` is taken back during each restart. With `busy` N another installation is in progress for N tries, with
# `busySearch` N for N searches.
function Invoke-UpdateAgent {
    [CmdletBinding()]
    param([string[]] $Kbs = @(), [string[]] $Categories = @(), [string[]] $Except = @(), [bool] $Install)
    if ($Install) { Confirm-Simulation -Ability 'Invoke-UpdateAgent' }
    $wanted = @(@($Kbs) + @($Categories | Where-Object { $_ -notin $Except }))
    $outcome = [pscustomobject]@{ missing = @(); offered = @(); failed = @(); busy = $false; restart = $false }
    $mark = 'busySearch'
    if ($Install) { $mark = 'busy' }
    $busy = [int](Get-Simulation -Area 'os' -Name $mark)
    if ($busy -gt 0) {
        Set-Simulation -Area 'os' -Name $mark -Value ($busy - 1)
        $outcome.busy = $true
        return $outcome
    }
    foreach ($name in $wanted) {
        $state = Get-Simulation -Area 'updates' -Name $name
        if ($state -eq 'installed') { continue }
        $outcome.offered += "title of $name"
        if (-not $Install) {
            $outcome.missing += $name
        } elseif ($null -eq $state) {
            Set-Simulation -Area 'updates' -Name $name -Value 'installed'
            $outcome.restart = $true
        } elseif ($state -eq 'back') {
            $outcome.restart = $true
        } else {
            $outcome.failed += "title of ${name}: 0x80070643"
            if ($state -eq 'later') { Set-Simulation -Area 'updates' -Name $name -Value $null }
        }
    }
    $outcome
}

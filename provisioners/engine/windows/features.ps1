# Features and capabilities, and the restart that they wait for.

function Test-Feature {
    [CmdletBinding()]
    param([string] $Name)
    $feature = Get-WindowsFeature -Name $Name
    if ($null -eq $feature) { throw "this Windows has no feature $Name" }
    [bool]$feature.Installed
}

# $true when the change waits for a restart.
function Set-Feature {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    if ($Installed) {
        $result = Install-WindowsFeature -Name $Name
    } else {
        $result = Uninstall-WindowsFeature -Name $Name
    }
    if (-not $result.Success) { throw "feature $Name could not be changed: $($result.ExitCode)" }
    "$($result.RestartNeeded)" -ne 'No'
}

# Whether Windows waits for a restart, by every mark that it has: component servicing and the update agent
# (rgl/packer-plugin-windows-update@425dbda update/windows-update.ps1; dsccommunity/ComputerManagementDsc@17e10f3
# DSC_PendingReboot). Then features and updates refuse to go on.
function Test-PendingRestart {
    [CmdletBinding()]
    param()
    $version = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion'
    foreach ($name in 'RebootPending', 'RebootInProgress', 'PackagesPending') {
        if ($null -ne (Open-RegistryKey -Key "$version\Component Based Servicing\$name")) { return $true }
    }
    $agent = "$version\WindowsUpdate\Auto Update\RebootRequired"
    if ($null -ne (Open-RegistryKey -Key $agent)) { return $true }
    try {
        [bool](New-Object -ComObject 'Microsoft.Update.SystemInfo').RebootRequired
    } catch {
        # A remote session may be refused; the marks above stand.
        $false
    }
}

function Test-Capability {
    [CmdletBinding()]
    param([string] $Name)
    $capability = Get-WindowsCapability -Online -Name $Name
    if ($null -eq $capability) { throw "this Windows has no capability $Name" }
    "$($capability.State)" -eq 'Installed'
}

# $true when the change waits for a restart. Add-WindowsCapability is refused in remote sessions
# (https://github.com/hashicorp/packer/issues/9345), which a task of SYSTEM is none of.
function Set-Capability {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    $verb = 'Remove-Capability'
    if ($Installed) { $verb = 'Add-Capability' }
    $program = "$script:System32\Dism.exe"
    $line = "/Online /$verb /CapabilityName:$Name /Quiet /NoRestart"
    $code = [long](Invoke-AsSystem -Program $program -ArgumentLine $line)
    if ($code -notin 0, 3010) { throw "$program exited with $code for the capability $Name" }
    $code -eq 3010
}

# Listeners and settings of WinRM.

function Test-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $null -ne (Get-Simulation -Area 'listeners' -Name $Transport)
}

# A listener is the thumbprint of its certificate, whose private key is in the area keys and goes with it.
function New-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Confirm-Simulation -Ability 'New-WinrmListener'
    if (Test-WinrmListener -Transport $Transport) { throw "there is a listener for $Transport already" }
    Set-Simulation -Area 'listeners' -Name $Transport -Value 'A1B2'
    Set-Simulation -Area 'keys' -Name 'A1B2' -Value 'private'
}

function Remove-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Confirm-Simulation -Ability 'Remove-WinrmListener'
    $thumbprint = Get-Simulation -Area 'listeners' -Name $Transport
    if ($null -ne $thumbprint) { Set-Simulation -Area 'keys' -Name $thumbprint -Value $null }
    Set-Simulation -Area 'listeners' -Name $Transport -Value $null
}

function Get-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting)
    Get-Simulation -Area 'winrm' -Name $Setting
}

function Set-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting, [string] $Value)
    Confirm-Simulation -Ability 'Set-WinrmSetting'
    Set-Simulation -Area 'winrm' -Name $Setting -Value $Value
}

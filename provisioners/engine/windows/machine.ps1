# The machine as a whole: its build, its power plan, its space, its restart.

function Get-OsBuild {
    [CmdletBinding()]
    param()
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
    $found = @{}
    foreach ($name in 'CurrentBuildNumber', 'UBR') {
        $value = Get-RegistryValue -Key $key -Name $name
        if ($null -eq $value) { throw "$key has no value $name" }
        $found[$name] = [int]$value.data
    }
    @{ build = $found.CurrentBuildNumber; revision = $found.UBR }
}

# powercfg speaks the language of the system: only the GUID is looked at.
function Get-PowerPlan {
    [CmdletBinding()]
    param()
    $text = (Invoke-Native -Program "$script:System32\powercfg.exe" -Arguments @('/getactivescheme')).output
    if ($text -notmatch '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}') { throw "no power plan in: $text" }
    $Matches[0].ToLowerInvariant()
}

function Set-PowerPlan {
    [CmdletBinding()]
    param([string] $Plan)
    $null = Invoke-Native -Program "$script:System32\powercfg.exe" -Arguments @('/setactive', $Plan)
}

# What keeps scripts of this project from running in this process, with the line to start instead, or on this
# machine: Windows may be on another drive than C:, where plans and tasks look for it.
function Get-ShellObstacle {
    [CmdletBinding()]
    param()
    $line = 'start "{0}\{1}\WindowsPowerShell\v1.0\powershell.exe" -NoProfile -ExecutionPolicy Bypass -File '
    $line += '.\Install.ps1'
    if ("$($PSVersionTable['PSEdition'])" -eq 'Core') {
        "this is PowerShell $($PSVersionTable.PSVersion), " + ($line -f $env:SystemRoot, 'System32')
    } elseif ($PSVersionTable.PSVersion -lt [version]'5.1') {
        "this is PowerShell $($PSVersionTable.PSVersion), 5.1 is needed"
    }
    if (-not [Environment]::Is64BitProcess) {
        'this is a 32-bit process, ' + ($line -f $env:SystemRoot, 'Sysnative')
    }
    if ("$env:SystemRoot" -match '^[ABD-Z]:') { "Windows is in $env:SystemRoot, and the plan names C:\Windows" }
}

# Bytes that are free where Windows is.
function Get-FreeSpace {
    [CmdletBinding()]
    param()
    (Get-CimInstance -ClassName 'Win32_LogicalDisk' -Filter "DeviceID='$env:SystemDrive'").FreeSpace
}

# In a few seconds, so that the caller can still end. 1115, 1190: somebody else has begun a restart, or planned one
# (https://github.com/hashicorp/packer/pull/7071).
function Request-Restart {
    [CmdletBinding()]
    param()
    $arguments = @('/r', '/t', '5', '/d', 'p:4:1')
    $null = Invoke-Native -Program "$script:System32\shutdown.exe" -Arguments $arguments -Accept 0, 1115, 1190
}

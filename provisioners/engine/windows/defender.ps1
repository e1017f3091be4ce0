# Exclusions of Microsoft Defender.

# Whether Defender is on this machine. Where it was removed, which may leave its commands, or a policy turned it
# off for another antivirus (https://github.com/MicrosoftDocs/microsoft-365-docs/issues/8185), it answers nothing
# and there is nothing to exclude from.
function Test-Defender {
    [CmdletBinding()]
    param()
    if ($null -eq (Get-ServiceConfig -Name 'WinDefend')) { return $false }
    if ($null -eq (Get-Command -Name 'Get-MpPreference' -ErrorAction SilentlyContinue)) { return $false }
    $off = Get-RegistryValue -Key 'HKLM:\SOFTWARE\Policies\Microsoft\Windows Defender' -Name 'DisableAntiSpyware'
    $null -eq $off -or $off.data -ne 1
}

# Defender comes up late after a start of Windows, and answers 0x800106ba until then.
function Get-DefenderPreference {
    [CmdletBinding()]
    param()
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            return Get-MpPreference -ErrorAction Stop
        } catch {
            if ($clock.Elapsed.TotalSeconds -ge 60) { throw }
        }
        $null = Get-TimeLeft -Doing 'waiting for Microsoft Defender'
        Start-Sleep -Seconds 2
    }
}

function Get-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind)
    $preference = Get-DefenderPreference
    if ($Kind -eq 'path') { @($preference.ExclusionPath) } else { @($preference.ExclusionProcess) }
}

function Set-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind, [string] $Value, [bool] $Present)
    $exclusion = @{ ExclusionProcess = $Value }
    if ($Kind -eq 'path') { $exclusion = @{ ExclusionPath = $Value } }
    if ($Present) {
        Add-MpPreference @exclusion -ErrorAction Stop
    } else {
        Remove-MpPreference @exclusion -Force -ErrorAction Stop
    }
}

# Sysprep and the state of the image.

function Get-ImageState {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'imageState'
}

# A generalised image. Certificates stay, and lose their private keys.
function Complete-Sealing {
    [CmdletBinding()]
    param([string] $ImageState)
    Set-Simulation -Area 'os' -Name 'imageState' -Value $ImageState
    Set-Simulation -Area 'os' -Name 'machineId' -Value '4-5-6'
    Clear-Simulation -Area 'keys'
}

# The agents of two platforms do more. EC2Launch goes on for a minute after it has returned, unless it gets
# --block. GCESysprep takes the self-signed certificates, too, and has its own set-up run on the clone.
function Start-Sealing {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments = @(), [string] $ImageState)
    if ($Program -like '*\EC2Launch.exe' -and $Arguments -notcontains '--block') {
        Set-Simulation -Area 'os' -Name 'agentWork' -Value $ImageState
        return
    }
    Complete-Sealing -ImageState $ImageState
    if (($Arguments -join ' ') -notlike '*\Google\Compute Engine\sysprep\sysprep.ps1*') { return }
    Clear-Simulation -Area 'machineCertificates'
    $null = New-Item -ItemType Directory -Path 'C:\Windows\Setup\Scripts' -Force
    Write-TextFile -Path 'C:\Windows\Setup\Scripts\SetupComplete.cmd' -Content 'instance_setup.ps1'
    Set-Simulation -Area 'os' -Name 'instanceSetup' -Value 'due'
}

# What an agent still did after it had returned.
function Complete-AgentWork {
    [CmdletBinding()]
    param()
    $state = Get-Simulation -Area 'os' -Name 'agentWork'
    if ($null -eq $state) { return }
    Set-Simulation -Area 'os' -Name 'agentWork' -Value $null
    Complete-Sealing -ImageState $state
}

# instance_setup.ps1 on a clone: a listener with a certificate of its own, and no SetupComplete.cmd any more.
function Complete-InstanceSetup {
    [CmdletBinding()]
    param()
    if ($null -eq (Get-Simulation -Area 'os' -Name 'instanceSetup')) { return }
    Set-Simulation -Area 'os' -Name 'instanceSetup' -Value $null
    Set-Simulation -Area 'listeners' -Name 'HTTPS' -Value 'E7F8'
    Set-Simulation -Area 'machineCertificates' -Name 'E7F8' -Value 'self-signed'
    Set-Simulation -Area 'keys' -Name 'E7F8' -Value 'private'
    $script = 'C:\Windows\Setup\Scripts\SetupComplete.cmd'
    if (Test-Path -LiteralPath $script) { Remove-Item -LiteralPath $script -Force }
}

# An answer file that holds `hangs` never gets the image generalised, nor does a package of one user.
function Invoke-Sysprep {
    [CmdletBinding()]
    param([string] $Unattend, [string] $Finish)
    Confirm-Simulation -Ability 'Invoke-Sysprep'
    if ([IO.File]::ReadAllText((Resolve-NativePath -Path $Unattend)).Contains('hangs')) {
        Set-Simulation -Area 'os' -Name 'setuperr' -Value (@(Get-SysprepLine) + 'last line of setuperr.log')
        return
    }
    # Sysprep that refuses ends, and says why in its log alone.
    $isRefused = (Get-Simulation -Area 'os' -Name 'sealing') -eq 'refused'
    if ($isRefused -or "$(Get-Simulation -Area 'os' -Name 'userPackages')") {
        Set-Simulation -Area 'os' -Name 'setuperr' -Value (@(Get-SysprepLine) + 'SYSPRP 0x80073cf2')
        return
    }
    Complete-Sealing -ImageState 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
}

function Test-SysprepRunning {
    [CmdletBinding()]
    param()
    $null -ne (Get-Simulation -Area 'os' -Name 'sysprep')
}

# Runs before this one have their lines in the log, too.
function Get-SysprepLine {
    [CmdletBinding()]
    param()
    $lines = Get-Simulation -Area 'os' -Name 'setuperr'
    if ($null -ne $lines) { $lines }
}

# Programs, scripts and processes.

function Stop-ProcessTree {
    [CmdletBinding()]
    param([Diagnostics.Process] $Process)
    if (-not $Process.HasExited) { $Process.Kill($true) }
}

# With `busyInstaller` N another package is being installed for N tries.
function Install-Msi {
    [CmdletBinding()]
    param([string] $Package, [string] $Log, [string[]] $Arguments = @())
    Confirm-Simulation -Ability 'Install-Msi'
    $busy = [int](Get-Simulation -Area 'os' -Name 'busyInstaller')
    if ($busy -gt 0) {
        Set-Simulation -Area 'os' -Name 'busyInstaller' -Value ($busy - 1)
        return 'busy'
    }
    [IO.File]::WriteAllText($Log, "installed with $Arguments")
    $creates = Get-Simulation -Area 'packages' -Name ([IO.Path]::GetFileName($Package))
    Write-TextFile -Path $creates -Content 'installed'
    'installed'
}

# Runtimes are played, of every other program the state knows what it prints.
function Invoke-Program {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments = @())
    $isImage = $Arguments -contains 'pull' -or $Arguments -contains 'images'
    if ($Program -like '*\schtasks.exe') { return Invoke-TaskProgram -Arguments $Arguments }
    if ($Program -like '*\docker.exe') { return Invoke-DockerProgram -Arguments $Arguments }
    if ($isImage) { return Invoke-ContainerdProgram -Arguments $Arguments }
    $known = Get-Simulation -Area 'programs' -Name (@($Program) + $Arguments -join ' ')
    if ($null -eq $known) { return @{ exitCode = 1; output = 'not known to the simulation' } }
    if ($known['imageState']) {
        Start-Sealing -Program $Program -Arguments $Arguments -ImageState $known['imageState']
    }
    if ($known['flags']) { Write-TextFile -Path 'C:\var\lib\kubelet\kubeadm-flags.env' -Content $known['flags'] }
    if ($known['creates']) { Write-TextFile -Path $known['creates'] -Content 'created' }
    @{ exitCode = [int]$known.exitCode; output = $known.output }
}

function Get-PowerShellPath {
    [CmdletBinding()]
    param()
    [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
}

# host-local as far as a reservation goes: the address is a file below the pool's folder.
function Invoke-NetworkProgram {
    [CmdletBinding()]
    param([string] $Program, [string] $Text, [hashtable] $Environment)
    if ($Program -notlike '*\host-local.exe') { throw "$Program is not simulated" }
    $request = $Text | ConvertFrom-Json
    $folder = "$($request.ipam.dataDir)\$($request.name)"
    $address = $request.ipam.subnet -replace '\.0/24$', '.9'
    if ($Environment.CNI_COMMAND -eq 'DEL') {
        if (Test-Path -LiteralPath "$folder\$address") { Remove-Item -LiteralPath "$folder\$address" -Force }
        return @{ exitCode = 0; output = '' }
    }
    if (Test-Path -LiteralPath "$folder\$address") { return @{ exitCode = 1; output = 'duplicate' } }
    Write-TextFile -Path "$folder\$address" -Content $Environment.CNI_CONTAINERID
    @{ exitCode = 0; output = "{`"ip4`": {`"ip`": `"$address/24`"}}" }
}

# `remember X` makes every later script print X; before that they print nothing. A script in the area `scripts` is
# one that sets: from then on the script that tests it prints what the plan expects.
function Invoke-ScriptText {
    [CmdletBinding()]
    param([string] $Text)
    Confirm-Simulation -Ability 'Invoke-ScriptText'
    if ($Text -match '^remember (.*)$') {
        Set-Simulation -Area 'os' -Name 'script' -Value $Matches[1]
        return ''
    }
    $setter = Get-Simulation -Area 'scripts' -Name $Text
    if ($null -ne $setter) {
        Set-Simulation -Area 'printed' -Name $setter['test'] -Value $setter['expected']
        return ''
    }
    $printed = Get-Simulation -Area 'printed' -Name $Text
    if ($null -eq $printed) { $printed = Get-Simulation -Area 'os' -Name 'script' }
    "$printed`n"
}

function Get-ChildPolicy {
    [CmdletBinding()]
    param()
    if ("$(Get-Simulation -Area 'policy' -Name 'execution')" -eq 'AllSigned') { 'AllSigned' } else { 'Bypass' }
}

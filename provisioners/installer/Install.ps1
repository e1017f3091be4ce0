<#
.SYNOPSIS
Makes this machine a Kubernetes node that only lacks its join.

.DESCRIPTION
Checks the machine, copies this folder to C:\imagegen and has the engine apply the plan. Where a restart is due it
restarts the machine and continues through a task of SYSTEM, which is removed at the end. It can be run again at
any time: completed work is not repeated.
Progress is in C:\imagegen\install.json, every line in C:\imagegen\install.log, reasons of failures in
C:\imagegen\state\errors.log.
Exit codes: 0 done, 1 a resource failed, 2 machine or installer refused, 8 checks failed, 3010 it continues after a
restart.

.PARAMETER Check
Only tell what would stop it; nothing is changed.

.PARAMETER NoRestart
Do not restart the machine: end with 3010 where a restart is due, to be run again after it.

.PARAMETER MinimumFreeGB
Space that must be free where Windows is.

.PARAMETER Destination
C:\imagegen, which the plan's tasks and settings name; another folder is refused.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation.

.EXAMPLE
.\Install.ps1 -Check
#>
[CmdletBinding()]
param(
    [switch] $Check,
    [switch] $NoRestart,
    [ValidateRange(1, 10000)]
    [int] $MinimumFreeGB = 10,
    [string] $Destination = 'C:\imagegen',
    [string] $Platform
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ("$($ExecutionContext.SessionState.LanguageMode)" -ne 'FullLanguage') {
    Write-Output -InputObject 'imagegen: a policy runs this script in constrained language: sign or allow it'
    exit 2
}

# Refuses a script that is not the one of the plan, before it is loaded.
function Assert-Digest {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Scripts, [Parameter(Mandatory)] [string] $Root,
        [Parameter(Mandatory)] [string] $Name)
    $wanted = $Scripts.PSObject.Properties[$Name]
    if ($null -eq $wanted) { throw "$Name is no script of the plan" }
    $path = Join-Path -Path $Root -ChildPath $Name
    if (-not [IO.File]::Exists($path)) { throw "script $Name is missing" }
    $hash = Get-FileHash -LiteralPath $path -Algorithm SHA256 -ErrorAction Stop
    $found = $hash.Hash.ToLowerInvariant()
    if ($found -cne $wanted.Value) { throw "script $Name is $found, in the plan $($wanted.Value)" }
}

# Until the installer has its place, reasons stay beside it.
$script:Kept = $PSScriptRoot
$script:Root = $PSScriptRoot
# Also of the installation disc's task, which starts this for the first time: it is replaced and removed with it.
$script:Task = 'imagegen-install'
$script:Parts = @('engine', 'node', 'resources', 'artifacts', 'guest-plan.json', 'Install.ps1')
# SYSTEM and administrators alone: what lies here runs as SYSTEM after a restart.
$script:Access = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
# Not in param: with `powershell.exe -File`, 5.1 evaluates defaults before it sets $PSScriptRoot
# (https://github.com/PowerShell/PowerShell/issues/4688).
$script:Simulated = [bool]$Platform
if (-not $Platform) { $Platform = "$PSScriptRoot/engine/Windows.ps1" }
$isLoaded = $false
try {
    $scripts = ([IO.File]::ReadAllText("$PSScriptRoot/guest-plan.json") | ConvertFrom-Json).scripts
    # First, because it tells what is wrong with the others.
    Assert-Digest -Scripts $scripts -Root $PSScriptRoot -Name 'engine/Reason.ps1'
    . "$PSScriptRoot/engine/Reason.ps1"
    $isLoaded = $true
    foreach ($script in $scripts.PSObject.Properties) {
        Assert-Digest -Scripts $scripts -Root $PSScriptRoot -Name $script.Name
    }
    # What else lies there would be loaded with them.
    foreach ($folder in 'engine', 'node', 'resources') {
        foreach ($file in Get-ChildItem -LiteralPath "$PSScriptRoot/$folder" -Recurse -File -Force) {
            $name = $file.FullName.Substring($PSScriptRoot.Length).Replace('\', '/').TrimStart('/')
            if ($null -eq $scripts.PSObject.Properties[$name]) { throw "$name is no script of the plan" }
        }
    }
} catch {
    if ($isLoaded) {
        Write-Reason -Root $script:Kept -Source 'Install.ps1' -Message $_.Exception.Message
    } else {
        [Console]::Error.WriteLine("imagegen: $($_.Exception.Message)")
    }
    exit 2
}
. "$PSScriptRoot/engine/Tools.ps1"
. "$PSScriptRoot/engine/Installation.ps1"
. $Platform

# Whether an installation has made the folder: only administrators can write to it.
function Test-Installed {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    if (-not (Test-Path -LiteralPath $Target)) { return $false }
    -not (Test-Link -Item (Get-Item -LiteralPath $Target -Force)) -and (Get-Sddl -Path $Target) -ceq $script:Access
}

# Planned folders that an ordinary account has made, or put something into, one text each. Programs and
# configuration that lie there would stay that account's, and the node's services would run and read them.
function Get-ForeignFolder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan)
    # Administrators, SYSTEM, the built-in administrator, those of a domain and of a forest, TrustedInstaller.
    $administrator = '^O:(?:BA|SY|LA|DA|EA|S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)G:'
    foreach ($resource in $Plan.resources) {
        if ($resource.type -ne 'directory') { continue }
        if ($null -eq $resource.properties.PSObject.Properties['sddl']) { continue }
        $path = $resource.properties.path
        if (-not (Test-Path -LiteralPath $path -PathType Container)) { continue }
        if ((Get-Item -LiteralPath $path -Force).LinkType -eq 'Junction') {
            "$path is a junction, which every user can make: remove it, or make a symbolic link"
            continue
        }
        foreach ($name in @('') + @(Get-ChildItem -LiteralPath $path -Force | ForEach-Object { "\$($_.Name)" })) {
            $sddl = "$(Get-Sddl -Path "$path$name")"
            if (-not $sddl.StartsWith('O:') -or $sddl -cmatch $administrator) { continue }
            $owner = $sddl -creplace '^O:(.+?)G:.*$', '$1'
            "$path$name was there before and belongs to ${owner}: remove it, or make Administrators its owner"
        }
    }
}

# What would stop the installation, one text each.
function Get-Obstacle {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [int] $FreeGB,
        [Parameter(Mandatory)] [string] $Target)
    Get-ShellObstacle
    if (-not (Test-Administrator)) { 'this account is no administrator, or the shell is not elevated' }
    if ($null -ne $Plan.PSObject.Properties['signers'] -and (Get-ChildPolicy) -ne 'AllSigned') {
        'the plan wants signed scripts: start PowerShell with -ExecutionPolicy AllSigned -File .\Install.ps1'
    }
    $os = Get-OsBuild
    foreach ($resource in $Plan.resources) {
        $wanted = $resource.properties
        if ($resource.type -ne 'assertion' -or $wanted.check -ne 'osBuild' -or -not $wanted.holds) { continue }
        if ($os.build -ne $wanted.build) {
            "this is Windows build $($os.build), the plan is for $($wanted.build) ($($Plan.windows))"
        }
    }
    $bytes = Get-FreeSpace
    $free = [long][Math]::Floor($bytes / 1073741824)
    if ($free -lt $FreeGB) { "$free GB are free where Windows is, $FreeGB are wanted" }
    foreach ($resource in $Plan.resources) {
        $digest = $resource.properties.PSObject.Properties['digest']
        if ($null -ne $digest -and $digest.Value -cnotmatch '^([0-9a-f]{64}){1,2}$') {
            "$($resource.name) is not pinned by a digest"
        }
    }
    if (-not (Test-Installed -Target $Target)) { Get-ForeignFolder -Plan $Plan }
    $parts = @{ Path = $PSScriptRoot; Names = $script:Parts; Trusted = @(Get-AccountId) }
    foreach ($text in @(Get-TreeWriter @parts)) {
        "${text}: extract the archive again, where only administrators or you may write, as in your own profile"
    }
}

# The lasting place. A user may have made the folder before: what lies in it would stay the user's.
function New-Destination {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    if (Test-Installed -Target $Target) { return }
    # New-Item refuses a folder that somebody has made since, and nothing can be in a new one.
    if (Test-Path -LiteralPath $Target) {
        throw "$Target is there already and not of an installation: remove it"
    }
    $native = Resolve-NativePath -Path $Target
    $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($native))
    $null = New-Item -ItemType Directory -Path $native
    Set-Sddl -Path $Target -Sddl $script:Access
    if (@(Get-ChildItem -LiteralPath $Target -Force).Count -gt 0) {
        throw "somebody put something into $Target while it was made: remove it"
    }
}

# This folder to its lasting place. What an older installer left goes.
function Copy-Installer {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Target)
    $native = Resolve-NativePath -Path $Target
    foreach ($name in $script:Parts) {
        $old = Join-Path -Path $native -ChildPath $name
        $new = Join-Path -Path $PSScriptRoot -ChildPath $name
        if (Test-Path -LiteralPath $old) { Remove-Tree -Path $old }
        if (Test-Path -LiteralPath $new) { Copy-Item -LiteralPath $new -Destination $old -Recurse -Force }
    }
}

$code = 2
$lock = $null
try {
    $Destination = $Destination.TrimEnd('\', '/')
    if ($Destination -ne 'C:\imagegen') { throw "the plan names C:\imagegen, and nothing goes to '$Destination'" }
    $plan = [IO.File]::ReadAllText("$PSScriptRoot/guest-plan.json") | ConvertFrom-Json
    $obstacles = @(Get-Obstacle -Plan $plan -FreeGB $MinimumFreeGB -Target $Destination)
    foreach ($text in $obstacles) { Write-Told -Text "imagegen: $text" }
    if ($obstacles.Count -gt 0) {
        throw "$($obstacles.Count) obstacles, nothing was changed: $($obstacles -join '; ')"
    }
    if ($Check) {
        Write-Told -Text "imagegen: nothing stops Kubernetes $($plan.kubernetes) on this machine"
        exit 0
    }
    $native = Resolve-NativePath -Path $Destination
    $isInPlace = [IO.Path]::GetFullPath($PSScriptRoot).TrimEnd('\', '/') -eq [IO.Path]::GetFullPath($native)
    if (-not $isInPlace) { New-Destination -Target $Destination }
    $lock = Lock-Installation -Folder $native
    $file = Join-Path -Path $native -ChildPath 'install.json'
    $digest = Get-Digest -Path "$PSScriptRoot/guest-plan.json"
    $progress = Read-Progress -Path $file -PlanDigest $digest
    # What is done needs no files any more, and nothing would remove them again.
    if (-not $isInPlace -and $progress.state -ne 'done') { Copy-Installer -Target $Destination }
    $code = 1
    $script:Kept = $native
    $script:Log = Join-Path -Path $native -ChildPath 'install.log'
    # The copy: nobody but administrators can change it from here on.
    if (-not $script:Simulated) { $Platform = "$native/engine/Windows.ps1" }
    Invoke-Install -Progress $progress -Destination $native -Platform $Platform
    Write-TextFile -Path $file -Content (ConvertTo-Json -InputObject $progress)
    $restart = $progress.exitCode -eq 3010 -and -not $NoRestart
    if ($restart) {
        Register-Continuation -Destination $Destination
        Start-Deadline -Name 'restart' -Seconds 60
        Request-Restart
    } elseif ($null -ne (Get-Task -Name $script:Task)) {
        Remove-Task -Name $script:Task
    }
    $code = $progress.exitCode
    if ($progress.error) { throw $progress.error }
    Write-Told -Text "imagegen: $($progress.state), exit code $code"
} catch {
    Write-Reason -Root $script:Kept -Source 'Install.ps1' -Message $_.Exception.Message
} finally {
    if ($null -ne $lock) { $lock.Dispose() }
}
exit $code

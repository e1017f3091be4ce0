# The abilities of Windows as they are, but for those that Wine does not serve: access lists, which it keeps as
# modes of Unix, what comes from CIM, and tasks. PowerShell 7 is the shell here, and a child is started by its own
# path. An installer begins beside its source.
$script:Engine = @('C:\source', 'C:\imagegen' | Where-Object { [IO.Directory]::Exists($_) })[0]
. "$script:Engine\engine\Windows.ps1"

$script:AccessKey = 'HKLM:\SOFTWARE\imagegen-wine\access'

function Get-Sddl {
    [CmdletBinding()]
    param([string] $Path)
    $name = [IO.Path]::GetFullPath($Path.Replace('\\?\', '')).TrimEnd('\').ToLowerInvariant()
    $found = Get-RegistryValue -Key $script:AccessKey -Name $name
    if ($null -eq $found) { return 'O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)' }
    $found.data
}

function Set-Sddl {
    [CmdletBinding()]
    param([string] $Path, [string] $Sddl)
    $name = [IO.Path]::GetFullPath($Path.Replace('\\?\', '')).TrimEnd('\').ToLowerInvariant()
    # What Windows makes of entries for a file.
    if ([IO.File]::Exists($Path)) { $Sddl = $Sddl.Replace('A;OICI;', 'A;;') }
    Set-RegistryValue -Key $script:AccessKey -Name $name -Kind 'String' -Data $Sddl
}

function Get-FreeSpace {
    [CmdletBinding()]
    param()
    (New-Object -TypeName IO.DriveInfo -ArgumentList 'C').AvailableFreeSpace
}

function Get-ShellObstacle {
    [CmdletBinding()]
    param()
}

function Get-PowerShellPath {
    [CmdletBinding()]
    param()
    "$PSHOME\pwsh.exe"
}

# The service manager is Wine's own; what CIM tells of a service stands in the registry, too.
function Get-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name)
    $service = @(Get-Service | Where-Object { $_.Name -eq $Name })
    if ($service.Count -eq 0) { return $null }
    $value = { param($Field) (Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name $Field).data }
    $starts = @{ 2 = 'auto'; 3 = 'manual'; 4 = 'disabled' }
    $states = @{ Running = 'running'; Stopped = 'stopped'; StartPending = 'start pending' }
    $states.StopPending = 'stop pending'
    @{
        startType = $starts[[int](& $value 'Start')]
        dependsOn = @()
        displayName = $service[0].DisplayName
        commandLine = & $value 'ImagePath'
        state = $states["$($service[0].Status)"]
        exitCode = 0
    }
}

# sc.exe of Wine knows no `failure`: what it would write.
function Set-ServiceFailure {
    [CmdletBinding()]
    param([string] $Name, [long] $ResetSeconds, [object[]] $Actions = @())
    $kinds = @{ none = 0; restart = 1; reboot = 2 }
    $words = @([uint32]$ResetSeconds, 0, 0, $Actions.Count, 20)
    foreach ($action in $Actions) { $words += @($kinds[$action.action], (1000 * $action.delaySeconds)) }
    $bytes = [byte[]]@($words | ForEach-Object { [BitConverter]::GetBytes([uint32]$_) })
    $hex = [Convert]::ToHexString($bytes).ToLowerInvariant()
    Set-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActions' -Kind 'Binary' -Data $hex
}

# HNSCall hangs in Wine.
function Invoke-HostNetwork {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Body)
}

function Get-Task {
    [CmdletBinding()]
    param([string] $Name)
}

# curl.exe is no program of Wine: a file of this machine is copied in its place.
function Get-DownloadCommand {
    [CmdletBinding()]
    param([string] $Url, [string] $Path)
    $from = ([uri]$Url).LocalPath.Replace('/', '\')
    @{ program = "$script:System32\cmd.exe"; arguments = @('/c',
        "copy /y /b $from $($Path.Replace('/', '\')) >nul") }
}

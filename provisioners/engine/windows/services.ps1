# Services, through the service manager.

function Get-ServiceKey {
    [CmdletBinding()]
    param([string] $Name)
    "HKLM:\SYSTEM\CurrentControlSet\Services\$Name"
}

function Get-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name)
    $service = Get-CimInstance -ClassName 'Win32_Service' -Filter "Name='$Name'"
    if ($null -eq $service) { return $null }
    $startType = $service.StartMode.ToLowerInvariant()
    $delayed = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'DelayedAutoStart'
    if ($startType -eq 'auto' -and $null -ne $delayed -and $delayed.data -eq 1) { $startType = 'delayed' }
    $needs = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'DependOnService'
    $config = @{ startType = $startType; dependsOn = @(); displayName = $service.DisplayName }
    if ($null -ne $needs) { $config.dependsOn = @($needs.data) }
    $config.commandLine = $service.PathName
    $config.state = $service.State.ToLowerInvariant()
    $config.exitCode = $service.ExitCode
    if ($service.ExitCode -eq 1066) { $config.exitCode = $service.ServiceSpecificExitCode }
    $config
}

function New-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name, [string] $CommandLine)
    $null = New-Service -Name $Name -BinaryPathName $CommandLine -StartupType Manual
}

# Through CIM: a registry write stays unseen by the service manager, and sc.exe needs its quotes quoted again.
function Set-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Change)
    $names = @{ displayName = 'DisplayName'; commandLine = 'PathName'; dependsOn = 'ServiceDependencies' }
    $arguments = @{}
    foreach ($property in $Change.Keys) { $arguments[$names[$property]] = $Change[$property] }
    $service = Get-CimInstance -ClassName 'Win32_Service' -Filter "Name='$Name'"
    $code = (Invoke-CimMethod -InputObject $service -MethodName Change -Arguments $arguments).ReturnValue
    if ($code -ne 0) { throw "Win32_Service.Change of $Name returned $code" }
}

# sc.exe also takes the mark of a delayed start away again, which CIM cannot. No document says so
# (AgentBaker@06836ee relies on it): a mark that stays is taken away by itself.
function Set-ServiceStart {
    [CmdletBinding()]
    param([string] $Name, [string] $StartType)
    $mode = @{ auto = 'auto'; delayed = 'delayed-auto'; manual = 'demand'; disabled = 'disabled' }[$StartType]
    $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments @('config', $Name, 'start=', $mode)
    $mark = @{ Key = (Get-ServiceKey -Name $Name); Name = 'DelayedAutoStart' }
    $found = Get-RegistryValue @mark
    if ($StartType -eq 'auto' -and $null -ne $found -and $found.data -eq 1) {
        Set-RegistryValue @mark -Kind 'DWord' -Data 0
    }
}

function Set-ServiceFailure {
    [CmdletBinding()]
    param([string] $Name, [long] $ResetSeconds, [object[]] $Actions = @())
    $kinds = @{ none = ''; restart = 'restart'; reboot = 'reboot' }
    $texts = foreach ($action in $Actions) { '{0}/{1}' -f $kinds[$action.action], (1000 * $action.delaySeconds) }
    $arguments = @('failure', $Name, 'reset=', "$ResetSeconds", 'actions=', (@($texts) -join '/'))
    $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments $arguments
}

# With 1, an end with an error code is a failure like a crash.
function Set-ServiceFailureFlag {
    [CmdletBinding()]
    param([string] $Name, [bool] $Flag)
    $arguments = @('failureflag', $Name, "$([int]$Flag)")
    $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments $arguments
}

# Services that run, or are on their way, and need this one.
function Get-ServiceDependent {
    [CmdletBinding()]
    param([string] $Name)
    $service = Get-Service -Name $Name -ErrorAction Stop
    foreach ($other in $service.DependentServices) {
        if ("$($other.Status)" -ne 'Stopped') { $other.Name }
    }
}

# Asks and does not wait. Exit code 1056: it was running already.
function Request-ServiceState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    if ($State -eq 'stopped') {
        Stop-Service -Name $Name -Force -NoWait
    } else {
        $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments @('start', $Name) -Accept 0, 1056
    }
}

function Remove-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name)
    $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments @('delete', $Name)
}

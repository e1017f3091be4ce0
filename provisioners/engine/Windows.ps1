# The only file that names what exists on Windows alone: cmdlets, classes, registry and other drives, programs.
# One small function per ability, no decisions; tests/guest/Simulated.ps1 stands in for every one of them.

# Whole paths: a program of the same name in the current folder would be found first.
$script:System32 = "$env:SystemRoot\System32"

function Get-DownloadCommand {
    [CmdletBinding()]
    param([string] $Url, [string] $Path)
    # Not by [uri], whose errors name the whole URL.
    $protocol = @{ https = '=https'; http = '=http'; file = '=file' }[$Url.Split(':')[0].ToLowerInvariant()]
    if (-not $protocol) { throw 'the URL of a download begins with neither https:, http: nor file:' }
    # No --location: Downloads.ps1 follows redirects. No user's configuration file, nothing of a URL is a pattern.
    $arguments = @('--disable', '--globoff', '--fail', '--silent', '--show-error', '--proto', $protocol)
    $arguments += @('--write-out', '%{redirect_url}', '--retry', '5', '--connect-timeout', '30')
    $arguments += @('--speed-time', '60', '--speed-limit', '1024')
    # In a closed network Schannel refuses what it cannot check for revocation, unless the plan overlooks that.
    $overlooked = Get-RegistryValue -Key 'HKLM:\SOFTWARE\imagegen' -Name 'SkipRevocation'
    if ($null -ne $overlooked -and $overlooked.data -eq 1) { $arguments += @('--ssl-no-revoke') }
    $arguments += @('--output', $Path, $Url)
    @{ program = "$script:System32\curl.exe"; arguments = $arguments }
}

# A program with everything that it started.
function Stop-ProcessTree {
    [CmdletBinding()]
    param([Diagnostics.Process] $Process)
    if ($Process.HasExited) { return }
    $line = "/PID $($Process.Id) /T /F"
    $native = Start-Native -Program "$script:System32\taskkill.exe" -ArgumentLine $line
    if (-not $native.process.WaitForExit(15000)) { $native.process.Kill() }
    if (-not $Process.WaitForExit(5000)) { $Process.Kill() }
}

# Calls MoveFileEx, which replaces a file in one step. Move-Item -Force deletes the old file first, and
# [IO.File]::Replace gives the new file the access rights of the old one.
function Move-File {
    [CmdletBinding()]
    param([string] $From, [string] $To)
    Add-Type -AssemblyName 'Microsoft.VisualBasic'
    [Microsoft.VisualBasic.FileIO.FileSystem]::MoveFile($From, $To, $true)
}

function Expand-TarMember {
    [CmdletBinding()]
    param([string] $Archive, [string] $Destination, [string[]] $Members)
    # What follows -- is no option, whatever its name.
    $arguments = @('-xf', $Archive, '-C', $Destination, '--') + $Members
    $null = Invoke-Native -Program "$script:System32\tar.exe" -Arguments $arguments
}

# Files of several folders, each by its name there: folder to list of names.
function New-TarArchive {
    [CmdletBinding()]
    param([string] $Archive, [Collections.IDictionary] $Folders)
    $arguments = @('-cf', $Archive)
    foreach ($folder in $Folders.Keys) { $arguments += @('-C', $folder) + $Folders[$folder] }
    $null = Invoke-Native -Program "$script:System32\tar.exe" -Arguments $arguments
}

# The package's properties have msiexec's own quoting: NAME="a value".
function Install-Msi {
    [CmdletBinding()]
    param([string] $Package, [string] $Log, [string[]] $Arguments = @())
    $line = "/i `"$Package`" /qn /norestart /l*v `"$Log`""
    foreach ($argument in $Arguments) { $line += ' ' + ($argument -replace '^([^=]+)=(.*\s.*)$', '$1="$2"') }
    (Invoke-Native -Program "$script:System32\msiexec.exe" -ArgumentLine $line -Accept 0, 3010).exitCode -eq 3010
}

# A program that the plan names: exit code and text.
function Invoke-Program {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments = @(), [scriptblock] $Meanwhile)
    Invoke-Native -Program $Program -Arguments $Arguments -Accept @() -Meanwhile $Meanwhile
}

# A program of the pod network: what to do is in its environment, about which network in its input.
function Invoke-NetworkProgram {
    [CmdletBinding()]
    param([string] $Program, [string] $Text, [hashtable] $Environment)
    Invoke-Native -Program $Program -InputText $Text -Environment $Environment -Accept @()
}

# A script in a process that outlives the caller's session: WMI's, which no session takes along at its end.
function Start-Detached {
    [CmdletBinding()]
    param([string] $Script, [string[]] $Arguments = @())
    $words = @((Get-PowerShellPath), '-NoProfile', '-NonInteractive', '-ExecutionPolicy', (Get-ChildPolicy))
    $line = Join-Argument -Arguments ($words + @('-File', $Script) + $Arguments)
    $create = @{ ClassName = 'Win32_Process'; MethodName = 'Create'; Arguments = @{ CommandLine = $line } }
    $code = (Invoke-CimMethod @create).ReturnValue
    if ($code -ne 0) { throw "Win32_Process.Create returned $code for $Script" }
}

function Get-Sddl {
    [CmdletBinding()]
    param([string] $Path)
    (Get-Acl -LiteralPath $Path).GetSecurityDescriptorSddlForm('Owner, Group, Access')
}

function Set-Sddl {
    [CmdletBinding()]
    param([string] $Path, [string] $Sddl)
    $acl = Get-Acl -LiteralPath $Path
    $acl.SetSecurityDescriptorSddlForm($Sddl, 'Owner, Group, Access')
    Set-Acl -LiteralPath $Path -AclObject $acl
}

# 5.1 gives the target as a list, and with or without the prefix of the object manager.
function Get-LinkTarget {
    [CmdletBinding()]
    param([string] $Path)
    $item = Get-Item -LiteralPath $Path -Force -ErrorAction SilentlyContinue
    if ($null -eq $item -or $item.LinkType -ne 'SymbolicLink') { return $null }
    $target = [string]@($item.Target)[0]
    ($target -replace '^\\(\?\?|\\\?)\\', '').TrimEnd('\')
}

function New-Link {
    [CmdletBinding()]
    param([string] $Path, [string] $Target)
    $null = New-Item -ItemType SymbolicLink -Path $Path -Value $Target
}

# Remove-Item of 5.1 asks what to do with the files behind a link; this takes the link alone.
function Remove-Link {
    [CmdletBinding()]
    param([string] $Path)
    [IO.Directory]::Delete((Resolve-NativePath -Path $Path), $false)
}

# A key of the machine, $null when there is none. The drive HKLM: takes `/` in a name for a level (`RC4 128/128`)
# and cannot write the value without a name.
function Open-RegistryKey {
    [CmdletBinding()]
    param([string] $Key, [switch] $Write)
    if ($Key -notmatch '^HKLM:\\(.+)$') { throw "$Key is not below HKLM:\" }
    $root = [Microsoft.Win32.RegistryKey]::OpenBaseKey('LocalMachine', 'Registry64')
    if ($Write) { $root.CreateSubKey($Matches[1]) } else { $root.OpenSubKey($Matches[1]) }
}

function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    $item = Open-RegistryKey -Key $Key
    if ($null -eq $item -or $Name -notin $item.GetValueNames()) { return $null }
    $kind = $item.GetValueKind($Name).ToString()
    $data = $item.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
    switch ($kind) {
        'DWord' { $data = [BitConverter]::ToUInt32([BitConverter]::GetBytes([int]$data), 0) }
        'QWord' { $data = [BitConverter]::ToUInt64([BitConverter]::GetBytes([long]$data), 0) }
        'Binary' { $data = [BitConverter]::ToString([byte[]]$data).Replace('-', '').ToLowerInvariant() }
    }
    $item.Close()
    @{ kind = $kind; data = $data }
}

function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    switch ($Kind) {
        'DWord' { $Data = [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32]$Data), 0) }
        'QWord' { $Data = [BitConverter]::ToInt64([BitConverter]::GetBytes([uint64]$Data), 0) }
        'Binary' { $Data = [byte[]](ConvertFrom-Hex -Text $Data) }
        'MultiString' { $Data = [string[]]@($Data) }
        default { $Data = [string]$Data }
    }
    $item = Open-RegistryKey -Key $Key -Write
    try { $item.SetValue($Name, $Data, $Kind) } finally { $item.Close() }
}

function Remove-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    $item = Open-RegistryKey -Key $Key -Write
    try { $item.DeleteValue($Name) } finally { $item.Close() }
}

function Get-EnvironmentKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
}

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

# sc.exe also takes the mark of a delayed start away again, which CIM cannot.
function Set-ServiceStart {
    [CmdletBinding()]
    param([string] $Name, [string] $StartType)
    $mode = @{ auto = 'auto'; delayed = 'delayed-auto'; manual = 'demand'; disabled = 'disabled' }[$StartType]
    $null = Invoke-Native -Program "$script:System32\sc.exe" -Arguments @('config', $Name, 'start=', $mode)
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

# Whether component servicing waits for a restart. Then features and updates refuse to go on.
function Test-PendingRestart {
    [CmdletBinding()]
    param()
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'
    $null -ne (Open-RegistryKey -Key $key)
}

function Get-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $rule = Get-NetFirewallRule -Name $Name -ErrorAction SilentlyContinue
    if ($null -eq $rule) { return $null }
    $ports = Get-NetFirewallPortFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found = @{ displayName = $rule.DisplayName; direction = "$($rule.Direction)"; action = "$($rule.Action)" }
    $found.active = "$($rule.Enabled)" -eq 'True' -and "$($rule.Profile)" -eq 'Any'
    $found.protocol = $ports.Protocol
    $found.localPort = @($ports.LocalPort)
    $found.icmpType = "$($ports.IcmpType)"
    $found.remotePort = @($ports.RemotePort)
    $addresses = Get-NetFirewallAddressFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found.remoteAddress = @($addresses.RemoteAddress)
    $accounts = Get-NetFirewallSecurityFilter -AssociatedNetFirewallRule $rule -ErrorAction Stop
    $found.localUser = "$($accounts.LocalUser)"
    $found
}

function New-FirewallRule {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Properties)
    $null = New-NetFirewallRule -Name $Name -Profile Any -Enabled True @Properties -ErrorAction Stop
}

function Remove-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    Remove-NetFirewallRule -Name $Name -ErrorAction Stop
}

# netsh speaks the language of the system: only its numbers are looked at.
function Get-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $arguments = @('int', 'ipv4', 'show', 'dynamicport', $Protocol)
    $text = (Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments).output
    $numbers = [regex]::Matches($text, '\b(\d+)\s*$', 'Multiline')
    if ($numbers.Count -ne 2) { throw "netsh shows no range of dynamic ports: $text" }
    @{ start = [int]$numbers[0].Groups[1].Value; count = [int]$numbers[1].Groups[1].Value }
}

function Set-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    $range = @("start=$Start", "num=$Count")
    $arguments = @('int', 'ipv4', 'set', 'dynamicport', $Protocol) + $range
    $null = Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments
}

function Get-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $arguments = @('int', 'ipv4', 'show', 'excludedportrange', "protocol=$Protocol")
    $text = (Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments).output
    foreach ($row in [regex]::Matches($text, '^\s*(\d+)\s+(\d+)', 'Multiline')) {
        $start = [int]$row.Groups[1].Value
        @{ start = $start; count = [int]$row.Groups[2].Value - $start + 1 }
    }
}

function Add-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    $range = @("startport=$Start", "numberofports=$Count", 'store=persistent')
    $arguments = @('int', 'ipv4', 'add', 'excludedportrange', "protocol=$Protocol") + $range
    $null = Invoke-Native -Program "$script:System32\netsh.exe" -Arguments $arguments
}

# Whether Defender is on this machine. Where it was removed, there is nothing to exclude from.
function Test-Defender {
    [CmdletBinding()]
    param()
    $null -ne (Get-Command -Name 'Get-MpPreference' -ErrorAction SilentlyContinue)
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

# Where WinRM keeps its configuration. While the service does not run, the drive WSMan: offers to start it, and
# throws under strict mode (https://github.com/PowerShell/PowerShell/issues/11742).
$script:Wsman = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN'

function Test-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $null -ne (Open-RegistryKey -Key "$script:Wsman\Listener\*+$Transport")
}

# HTTPS gets a certificate of this machine's own: it ends with the build.
function New-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    $listener = @{
        ResourceURI = 'winrm/config/Listener'
        SelectorSet = @{ Address = '*'; Transport = $Transport }
    }
    Wait-ServiceState -Name 'WinRM' -State 'running'
    if ($Transport -eq 'HTTPS') {
        $store = 'Cert:\LocalMachine\My'
        $certificate = New-SelfSignedCertificate -DnsName $env:COMPUTERNAME -CertStoreLocation $store
        $listener.ValueSet = @{ CertificateThumbprint = $certificate.Thumbprint }
    }
    $null = New-WSManInstance @listener
}

# Through WinRM where it runs, because it holds the port; a service that is disabled reads its keys no more.
function Remove-WinrmListener {
    [CmdletBinding()]
    param([string] $Transport)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    $thumbprint = Get-RegistryValue -Key "$script:Wsman\Listener\*+$Transport" -Name 'certThumbprint'
    Get-ChildItem -Path 'WSMan:\localhost\Listener' |
        Where-Object { $_.Keys -contains "Transport=$Transport" } |
        Remove-Item -Recurse -Force
    if ($null -ne $thumbprint) { Remove-BuildCertificate -Thumbprint $thumbprint.data }
}

# The build's certificate is one that its own subject issued. Its private key would stay through Sysprep.
function Remove-BuildCertificate {
    [CmdletBinding()]
    param([string] $Thumbprint)
    $path = "Cert:\LocalMachine\My\$($Thumbprint.Replace(' ', ''))"
    $certificate = Get-Item -LiteralPath $path -ErrorAction SilentlyContinue
    if ($null -eq $certificate -or $certificate.Subject -ne $certificate.Issuer) { return }
    $key = @{ DeleteKey = $true }
    Remove-Item -LiteralPath $path @key
}

function Get-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting)
    $names = @{ Basic = 'auth_basic'; CredSSP = 'auth_credssp'; AllowUnencrypted = 'allow_unencrypted' }
    $name = $names[$Setting.Split('\')[-1]]
    if (-not $name) { throw "the setting $Setting of WinRM has no name in the registry here" }
    $value = Get-RegistryValue -Key "$script:Wsman\Service" -Name $name
    # All three are off unless the registry says otherwise.
    if ($null -eq $value -or $value.data -eq 0) { 'false' } else { 'true' }
}

function Set-WinrmSetting {
    [CmdletBinding()]
    param([string] $Setting, [string] $Value)
    Wait-ServiceState -Name 'WinRM' -State 'running'
    Set-Item -LiteralPath "WSMan:\localhost\$Setting" -Value $Value -Force
}

function Get-UserState {
    [CmdletBinding()]
    param([string] $Name)
    $user = Get-LocalUser -Name $Name -ErrorAction SilentlyContinue
    if ($null -eq $user) { return 'absent' }
    if ($user.Enabled) { 'present' } else { 'disabled' }
}

# The built-in administrator has the relative id 500, whatever its name: platforms rename it.
function Test-BuiltInAdministrator {
    [CmdletBinding()]
    param([string] $Name)
    $user = Get-LocalUser -Name $Name -ErrorAction SilentlyContinue
    $null -ne $user -and "$($user.SID)".EndsWith('-500')
}

function Set-UserState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    switch ($State) {
        'absent' { Remove-LocalUser -Name $Name }
        'disabled' { Disable-LocalUser -Name $Name }
        'present' { Enable-LocalUser -Name $Name }
    }
}

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

function Get-ImageState {
    [CmdletBinding()]
    param()
    $key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State'
    $value = Get-RegistryValue -Key $key -Name 'ImageState'
    if ($null -ne $value) { $value.data }
}

function Invoke-Sysprep {
    [CmdletBinding()]
    param([string] $Unattend, [string] $Finish)
    $program = "$script:System32\Sysprep\Sysprep.exe"
    $line = "/oobe /generalize /mode:vm /quiet /$Finish /unattend:`"$Unattend`""
    $null = Invoke-Native -Program $program -ArgumentLine $line
}

# The last lines of what Sysprep says went wrong.
function Get-SysprepError {
    [CmdletBinding()]
    param()
    $log = "$script:System32\Sysprep\Panther\setuperr.log"
    if (-not (Test-Path -LiteralPath $log)) { return "no $log" }
    @(Get-Content -LiteralPath $log -Tail 20) -join "`n"
}

# Settings of every task. By default Windows starts no task on batteries, and gives priority 7, which lowers the
# processor, disk and memory priority of everything that the task starts.
function Get-TaskSetting {
    [CmdletBinding()]
    param()
    $power = @{ AllowStartIfOnBatteries = $true; DontStopIfGoingOnBatteries = $true }
    $settings = New-ScheduledTaskSettingsSet @power -StartWhenAvailable -Priority 4 -ErrorAction Stop
    # As text: a time span of zero has come out as three days.
    $settings.ExecutionTimeLimit = 'PT0S'
    $settings
}

function Get-TaskPrincipal {
    [CmdletBinding()]
    param()
    $system = @{ UserId = 'S-1-5-18'; LogonType = 'ServiceAccount'; RunLevel = 'Highest' }
    New-ScheduledTaskPrincipal @system -ErrorAction Stop
}

# The update agent and wusa.exe refuse remote sessions: a task of SYSTEM is none. Gives the exit code.
function Invoke-AsSystem {
    [CmdletBinding()]
    param([string] $Program, [string] $ArgumentLine)
    $name = 'imagegen-as-system'
    $task = @{ Action = (New-ScheduledTaskAction -Execute $Program -Argument $ArgumentLine -ErrorAction Stop) }
    $task.Principal = Get-TaskPrincipal
    $task.Settings = Get-TaskSetting
    $null = Register-ScheduledTask -TaskName $name -TaskPath '\' -Force @task -ErrorAction Stop
    try {
        Start-ScheduledTask -TaskName $name -TaskPath '\' -ErrorAction Stop
        Wait-TaskResult -Name $name
    } finally {
        Unregister-ScheduledTask -TaskName $name -TaskPath '\' -Confirm:$false -ErrorAction Stop
    }
}

# Exit code of a task that was started. 267009: it runs; 267011: it has not run yet; 267045: it is queued.
function Wait-TaskResult {
    [CmdletBinding()]
    param([string] $Name)
    $clock = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $code = (Get-ScheduledTaskInfo -TaskName $Name -TaskPath '\' -ErrorAction Stop).LastTaskResult
        if ($code -notin 267009, 267011, 267045) { return $code }
        if ($code -ne 267009 -and $clock.Elapsed.TotalMinutes -ge 5) {
            throw "Task Scheduler has not started $Name within 5 minutes (result $code)"
        }
        $null = Get-TimeLeft -Doing "waiting for the task $Name"
        Start-Sleep -Seconds 1
    }
}

function Test-Hotfix {
    [CmdletBinding()]
    param([string] $Kb)
    $null -ne (Get-HotFix -Id $Kb -ErrorAction SilentlyContinue)
}

# What came of an update package: `installed`, `restart`, `present` or `notApplicable`. wusa.exe: 3010 a restart is
# needed, 2359302 it was there already, 0x80240017 it is not for this Windows or superseded. From build 26100 on
# DISM, which takes checkpoint updates out of the package's folder; 0x800f081e it is not for this Windows.
function Install-Hotfix {
    [CmdletBinding()]
    param([string] $Package)
    $program = "$script:System32\wusa.exe"
    $line = "`"$Package`" /quiet /norestart"
    $os = Get-OsBuild
    if ($os.build -ge 26100) {
        $program = "$script:System32\Dism.exe"
        $line = "/Online /Add-Package /PackagePath:`"$Package`" /Quiet /NoRestart"
    }
    # The exit code as an unsigned number, which is how Task Scheduler gives it.
    $code = [long](Invoke-AsSystem -Program $program -ArgumentLine $line)
    $names = @{ '0' = 'installed'; '3010' = 'restart'; '2359302' = 'present'; '2149842967' = 'notApplicable' }
    $names['2148468766'] = 'notApplicable'
    if (-not $names.ContainsKey("$code")) { throw "$program exited with $code for $Package" }
    $names["$code"]
}

# What is missing of the wanted, and whether a restart is needed.
function Invoke-UpdateAgent {
    [CmdletBinding()]
    param([string[]] $Kbs = @(), [string[]] $Categories = @(), [bool] $Install)
    $result = Join-Path -Path $script:Root -ChildPath 'state/updates.json'
    $line = "-NoProfile -NonInteractive -ExecutionPolicy $(Get-ChildPolicy) -File `"$PSScriptRoot\Update.ps1`""
    $line += " -Result `"$result`" -Kbs `"$($Kbs -join ',')`" -Categories `"$($Categories -join ',')`""
    if ($Install) { $line += ' -Install' }
    if (Test-Path -LiteralPath $result) { Remove-Item -LiteralPath $result -Force }
    $null = Invoke-AsSystem -Program (Get-PowerShellPath) -ArgumentLine $line
    if (-not (Test-Path -LiteralPath $result)) { throw "the update agent's script left no $result" }
    $outcome = [IO.File]::ReadAllText($result) | ConvertFrom-Json
    if ($outcome.error) { throw "the update agent failed: $($outcome.error)" }
    $outcome
}

function Get-PowerShellPath {
    [CmdletBinding()]
    param()
    "$script:System32\WindowsPowerShell\v1.0\powershell.exe"
}

function Test-Capability {
    [CmdletBinding()]
    param([string] $Name)
    $capability = Get-WindowsCapability -Online -Name $Name
    if ($null -eq $capability) { throw "this Windows has no capability $Name" }
    "$($capability.State)" -eq 'Installed'
}

# $true when the change waits for a restart.
function Set-Capability {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    if ($Installed) {
        $result = Add-WindowsCapability -Online -Name $Name
    } else {
        $result = Remove-WindowsCapability -Online -Name $Name
    }
    [bool]$result.RestartNeeded
}

function Get-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    $task = Get-ScheduledTask @place -ErrorAction SilentlyContinue
    if ($null -eq $task) { return $null }
    $action = @($task.Actions)[0]
    $trigger = 'none'
    foreach ($item in @($task.Triggers | Where-Object { $null -ne $_ })) {
        $class = $item.CimClass.CimClassName
        $names = @{ MSFT_TaskBootTrigger = 'startup'; MSFT_TaskDailyTrigger = 'daily' }
        $names.MSFT_TaskTimeTrigger = 'minutely'
        $trigger = $names[$class]
    }
    $found = @{ program = $action.Execute; argumentLine = "$($action.Arguments)"; trigger = $trigger }
    $found.enabled = "$($task.State)" -ne 'Disabled'
    $found
}

function Set-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program, [string] $ArgumentLine, [string] $Trigger, [bool] $Enabled)
    $action = @{ Execute = $Program }
    if ($ArgumentLine) { $action.Argument = $ArgumentLine }
    $task = @{ Action = (New-ScheduledTaskAction @action -ErrorAction Stop) }
    $task.Principal = Get-TaskPrincipal
    $task.Settings = Get-TaskSetting
    if ($Trigger -eq 'startup') { $task.Trigger = New-ScheduledTaskTrigger -AtStartup -ErrorAction Stop }
    if ($Trigger -eq 'daily') { $task.Trigger = New-ScheduledTaskTrigger -Daily -At '03:00' -ErrorAction Stop }
    if ($Trigger -eq 'minutely') {
        # Also after a restart, and never a second time while it runs.
        $again = @{ At = (Get-Date); RepetitionInterval = (New-TimeSpan -Minutes 1) }
        $task.Trigger = New-ScheduledTaskTrigger -Once @again -ErrorAction Stop
    }
    $place = Split-TaskName -Name $Name
    $null = Register-ScheduledTask @place @task -Force -ErrorAction Stop
    if (-not $Enabled) { $null = Disable-ScheduledTask @place -ErrorAction Stop }
}

function Start-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    Start-ScheduledTask @place -ErrorAction Stop
}

# With the program that it started, which would outlive it.
function Stop-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program)
    $place = Split-TaskName -Name $Name
    Stop-ScheduledTask @place -ErrorAction Stop
    Get-Process | Where-Object { $_.Path -eq $Program } | Stop-Process -Force
}

function Remove-Task {
    [CmdletBinding()]
    param([string] $Name)
    $place = Split-TaskName -Name $Name
    Unregister-ScheduledTask @place -Confirm:$false -ErrorAction Stop
}

# The host network service has no command in Windows PowerShell: its library is called.
function Invoke-HostNetwork {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Body = '')
    $text = '[MarshalAs(UnmanagedType.LPWStr)]'
    $signature = '[DllImport("vmcompute.dll")] public static extern void HNSCall('
    $signature += "$text string method, $text string path, $text string request, $text out string response);"
    $native = Add-Type -MemberDefinition $signature -Name 'HostNetwork' -Namespace 'Imagegen' -PassThru
    $response = ''
    $native::HNSCall($Method, $Path, $Body, [ref]$response)
    $answer = $response | ConvertFrom-Json
    if (-not $answer.Success) { throw "host networks: $Method $Path failed: $response" }
    if ($null -ne $answer.PSObject.Properties['Output']) { $answer.Output }
}

# The card with an address, and the length of its network's prefix.
function Get-NetworkCard {
    [CmdletBinding()]
    param([string] $Address)
    $found = @(Get-NetIPAddress -IPAddress $Address -ErrorAction Stop)[0]
    @{ name = $found.InterfaceAlias; length = [int]$found.PrefixLength }
}

function Test-NetworkAddress {
    [CmdletBinding()]
    param([string] $Address)
    @(Get-NetIPAddress -ErrorAction Stop | Where-Object { $_.IPAddress -eq $Address }).Count -gt 0
}

# The card with an address passes on what is not its own.
function Enable-Forwarding {
    [CmdletBinding()]
    param([string] $Address)
    $found = @(Get-NetIPAddress -IPAddress $Address -ErrorAction Stop)[0]
    $card = @{ InterfaceIndex = $found.InterfaceIndex; AddressFamily = 'IPv4' }
    Set-NetIPInterface @card -Forwarding Enabled -ErrorAction Stop
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

function Get-MemoryKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
}

# PowerShell of the plan, in a process of its own: it can neither see nor change the engine.
function Invoke-ScriptText {
    [CmdletBinding()]
    param([string] $Text)
    $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes((Get-ScriptFrame -Text $Text)))
    $arguments = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', (Get-ChildPolicy))
    $arguments += @('-OutputFormat', 'Text', '-EncodedCommand', $encoded)
    $result = Invoke-Native -Program (Get-PowerShellPath) -Arguments $arguments -Accept @()
    # Standard output alone: 5.1 writes errors as CLIXML, so the text catches its own and prints them.
    if ($result.exitCode -ne 0 -and -not $result.stdout.Trim()) { throw "the script failed: $($result.output)" }
    if ($result.exitCode -ne 0) { throw "the script failed: $($result.stdout.Trim())" }
    $result.stdout
}

# The execution policy of processes that this one starts: no weaker one than it runs under itself.
function Get-ChildPolicy {
    [CmdletBinding()]
    param()
    if ("$(Get-ExecutionPolicy)" -eq 'AllSigned') { 'AllSigned' } else { 'Bypass' }
}

function Open-CertificateStore {
    [CmdletBinding()]
    param([string] $Store, [string] $Access)
    $type = 'Security.Cryptography.X509Certificates.X509Store'
    $opened = New-Object -TypeName $type -ArgumentList $Store, 'LocalMachine'
    $opened.Open($Access)
    $opened
}

# Digests of the certificates in a store of the machine.
function Get-StoreDigest {
    [CmdletBinding()]
    param([string] $Store)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadOnly'
    try {
        foreach ($certificate in $opened.Certificates) { Get-ByteDigest -Bytes $certificate.RawData }
    } finally {
        $opened.Close()
    }
}

function ConvertTo-Certificate {
    [CmdletBinding()]
    param([string] $Content)
    $type = 'Security.Cryptography.X509Certificates.X509Certificate2'
    # The comma keeps the bytes one argument.
    New-Object -TypeName $type -ArgumentList (, [Convert]::FromBase64String($Content))
}

function Add-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadWrite'
    try {
        $opened.Add((ConvertTo-Certificate -Content $Content))
    } finally {
        $opened.Close()
    }
}

function Remove-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $opened = Open-CertificateStore -Store $Store -Access 'ReadWrite'
    try {
        $opened.Remove((ConvertTo-Certificate -Content $Content))
    } finally {
        $opened.Close()
    }
}

# An error in the log Application. The program makes its source by itself.
function Write-EventLine {
    [CmdletBinding()]
    param([string] $Text)
    $line = $Text.Substring(0, [Math]::Min(1000, $Text.Length)) -replace '["\r\n]', ' '
    $arguments = @('/t', 'error', '/id', '1', '/l', 'application', '/so', 'imagegen', '/d', $line)
    $null = Invoke-Native -Program "$script:System32\eventcreate.exe" -Arguments $arguments
}

# A line for whoever reads the machine's serial port, `COM2,115200,N,8`.
function Write-SerialLine {
    [CmdletBinding()]
    param([string] $Port, [string] $Text)
    $parts = $Port.Split(',')
    $opened = New-Object -TypeName IO.Ports.SerialPort -ArgumentList $parts[0], ([int]$parts[1])
    $opened.WriteTimeout = 5000
    $opened.Open()
    try {
        $opened.WriteLine($Text)
    } finally {
        $opened.Close()
    }
}

# What a local service answers, $null when it does not or not well.
function Get-UrlText {
    [CmdletBinding()]
    param([string] $Url)
    $arguments = @('--fail', '--silent', '--max-time', '5', '--noproxy', '*', $Url)
    $result = Invoke-Native -Program "$script:System32\curl.exe" -Arguments $arguments -Accept @()
    if ($result.exitCode -eq 0) { $result.output }
}

# Warnings and errors of the system, and all of the container services.
function Get-EventText {
    [CmdletBinding()]
    param([int] $Hours)
    $since = (Get-Date).AddHours(-$Hours)
    $filters = @(@{ LogName = 'System', 'Application'; Level = 1, 2, 3; StartTime = $since })
    foreach ($name in 'Microsoft-Windows-Host-Network-Service-Admin', 'Microsoft-Windows-Hyper-V-Compute-Admin') {
        $filters += @{ LogName = $name; StartTime = $since }
    }
    foreach ($filter in $filters) {
        $query = @{ FilterHashtable = $filter; MaxEvents = 2000; ErrorAction = 'SilentlyContinue' }
        # A log that this Windows does not have stops the command all the same.
        try { $found = @(Get-WinEvent @query) } catch { $found = @() }
        foreach ($item in $found) {
            $from = "$($item.LogName) $($item.ProviderName) $($item.Id)"
            '{0:o} {1}: {2}' -f $item.TimeCreated, $from, $item.Message
        }
    }
}

# What keeps scripts of this project from running in this process, with the line to start instead.
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
}

function Test-Administrator {
    [CmdletBinding()]
    param()
    $principal = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
    $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
}

# Bytes that are free where Windows is.
function Get-FreeSpace {
    [CmdletBinding()]
    param()
    (Get-CimInstance -ClassName 'Win32_LogicalDisk' -Filter "DeviceID='$env:SystemDrive'").FreeSpace
}

# In a few seconds, so that the caller can still end.
function Request-Restart {
    [CmdletBinding()]
    param()
    $arguments = @('/r', '/t', '5', '/d', 'p:4:1')
    $null = Invoke-Native -Program "$script:System32\shutdown.exe" -Arguments $arguments
}

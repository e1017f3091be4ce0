# What resources and platform share. Nothing here exists on Windows alone. Engine.psm1 sets $script:Root, the
# folder of the plan.
. "$PSScriptRoot/Native.ps1"
. "$PSScriptRoot/Files.ps1"
. "$PSScriptRoot/Downloads.ps1"
. "$PSScriptRoot/Images.ps1"
. "$PSScriptRoot/Access.ps1"
. "$PSScriptRoot/Offers.ps1"

# Finds what a command of Windows gets, or nothing where it fails with this error. After any other error it is not
# known whether the thing is there.
function Get-Existing {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Absence, [Parameter(Mandatory)] [scriptblock] $Action)
    try {
        & $Action
    } catch {
        if ("$($_.FullyQualifiedErrorId)" -notlike "$Absence*") { throw }
    }
}

# A task's name may have a path, `Folder\Name`; Windows wants the two apart.
function Split-TaskName {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name)
    $whole = $Name.TrimStart('\')
    $leaf = $whole.Split('\')[-1]
    @{ TaskName = $leaf; TaskPath = '\' + $whole.Substring(0, $whole.Length - $leaf.Length) }
}

# The engine's memory of a resource whose state cannot be read from the machine alone.
function Get-RecordPath {
    $digest = Get-ByteDigest -Bytes ([Text.Encoding]::UTF8.GetBytes($script:Current.name))
    Join-Path -Path $script:Root -ChildPath "state/$($digest.Substring(0, 32)).json"
}

function Read-Record {
    $path = Get-RecordPath
    if (-not [IO.File]::Exists($path)) { return $null }
    $text = [IO.File]::ReadAllText($path)
    # A power cut can leave the name of a file and not its bytes: what is no record would refuse each later run.
    if ($text -cmatch '\A\{[^\0]*\}\s*\z') { $text | ConvertFrom-Json }
}

function Write-Record {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Record)
    Write-TextFile -Path (Get-RecordPath) -Content (ConvertTo-Json -InputObject $Record -Depth 4)
    $script:Current.recorded = $true
}

# Whether what Windows says now is so behind the restart that the record of the resource in hand waits for.
function Test-Settled {
    -not $script:Current.ContainsKey('recorded') -and -not (Test-PendingRestart)
}

function Remove-Record {
    $path = Get-RecordPath
    if ([IO.File]::Exists($path)) { [IO.File]::Delete($path) }
}

# Another installation is at work and ends by itself, or by a restart, for which the engine asks.
function Wait-Installation {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Doing)
    if (Test-PendingRestart) { throw 'Windows waits for a restart' }
    $null = Get-TimeLeft -Doing "waiting for another installation to end before $Doing"
    Start-Sleep -Seconds 15
}

# The last lines that Sysprep's log of errors has more than before: those of other runs stay in it. A shorter one
# was begun anew.
function Get-SysprepError {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Before)
    $lines = @(Get-SysprepLine)
    if ($lines.Count -ge $Before) { $lines = @($lines | Select-Object -Skip $Before) }
    if ($lines.Count -eq 0) { return "Sysprep's log setuperr.log has nothing new" }
    @($lines | Select-Object -Last 20) -join "`n"
}

# The wanted list where the found one has the same members in another order or case, else the found one.
function Select-Order {
    [CmdletBinding()]
    param([string[]] $Wanted = @(), [string[]] $Found = @())
    $left = @($Wanted | Sort-Object) -join "`n"
    $right = @($Found | Sort-Object) -join "`n"
    if ($null -ne $Wanted -and $left -ieq $right) { $Wanted } else { $Found }
}

# Windows gives 10.0.0.0/8 back as 10.0.0.0/255.0.0.0.
function ConvertTo-Prefix {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Address)
    if ($Address -notmatch '^(.+)/(\d+\.\d+\.\d+\.\d+)$') { return $Address }
    $network = $Matches[1]
    $bits = foreach ($byte in $Matches[2].Split('.')) { [Convert]::ToString([int]$byte, 2).Replace('0', '') }
    "$network/$((@($bits) -join '').Length)"
}

# Accounts that the filter denies, to which the rule does not apply. Windows may write letters for identifiers.
function Get-ExceptAccount {
    [CmdletBinding()]
    param([AllowEmptyString()] [string] $Filter)
    if ($Filter -in '', 'Any') { return }
    if ($Filter -notmatch '^O:LSD:(\(D;;CC;;;[^)]+\))+\(A;;CC;;;(S-1-1-0|WD)\)$') { return $Filter }
    $letters = @{ SY = 'S-1-5-18'; LS = 'S-1-5-19'; NS = 'S-1-5-20'; BA = 'S-1-5-32-544'; BU = 'S-1-5-32-545' }
    $accounts = [regex]::Matches($Filter, '\(D;;CC;;;([^)]+)\)') | ForEach-Object { $_.Groups[1].Value }
    $accounts | ForEach-Object { if ($letters.ContainsKey($_)) { $letters[$_] } else { $_ } }
}

function ConvertFrom-Hex {
    [CmdletBinding()]
    param([string] $Text = '')
    $bytes = New-Object -TypeName 'byte[]' -ArgumentList ($Text.Length / 2)
    for ($i = 0; $i -lt $bytes.Length; $i++) { $bytes[$i] = [Convert]::ToByte($Text.Substring(2 * $i, 2), 16) }
    , $bytes
}

# The registry's FailureActions: reset period, two texts, count, offset; then pairs of kind and milliseconds.
function ConvertFrom-FailureAction {
    [CmdletBinding()]
    param([string] $Hex = '')
    $kinds = @('none', 'restart', 'reboot', 'command')
    if ($Hex.Length -lt 40) { return @{ resetSeconds = 0; actions = @() } }
    $bytes = ConvertFrom-Hex -Text $Hex
    $actions = @(for ($i = 0; $i -lt [BitConverter]::ToInt32($bytes, 12); $i++) {
        $delay = [BitConverter]::ToUInt32($bytes, 24 + 8 * $i) / 1000
        @{ action = $kinds[[BitConverter]::ToInt32($bytes, 20 + 8 * $i)]; delaySeconds = $delay }
    })
    @{ resetSeconds = [BitConverter]::ToUInt32($bytes, 0); actions = $actions }
}

# Variables of a service alone. An empty list of the registry is none that a plan could hold.
function Get-ServiceEnvironment {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name)
    $found = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'Environment'
    if ($null -eq $found) { return }
    $variables = @($found.data | Where-Object { $_ })
    if ($variables.Count -eq 0) { return 'an empty list, with which the service does not start' }
    $variables
}

# With an empty list in the registry the service manager refuses each start of the service with error 87
# (https://github.com/kardianos/service/issues/328, pull/331), so that no variables are no value.
function Set-ServiceEnvironment {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [AllowEmptyCollection()] [string[]] $Variables = @())
    $key = Get-ServiceKey -Name $Name
    if ($Variables.Count -gt 0) {
        Set-RegistryValue -Key $key -Name 'Environment' -Kind 'MultiString' -Data $Variables
    } elseif ($null -ne (Get-RegistryValue -Key $key -Name 'Environment')) {
        Remove-RegistryValue -Key $key -Name 'Environment'
    }
}

# Asks for a state, and for that of services that depend on this one first: Stop-Service waits 30 s for each of
# them and throws then (dotnet/runtime@04da5a1 ServiceController.cs, Stop). Gives the reason of a refusal.
function Request-ServiceChange {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [string] $State)
    try {
        if ($State -eq 'stopped') {
            foreach ($other in @(Get-ServiceDependent -Name $Name)) {
                Wait-ServiceState -Name $other -State 'stopped'
            }
        }
        Request-ServiceState -Name $Name -State $State
    } catch {
        $_.Exception.Message
    }
}

# Waits, in the time of the resource in hand, until a service is running or stopped. A service that changes is not
# asked: the service manager refuses that with error 1061
# (https://github.com/microsoft/IIS.ServiceMonitor/issues/28). One that does not start is started up to three
# times, because something that it needs may start later.
function Wait-ServiceState {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [string] $State)
    $asked = 0
    $refusal = ''
    $last = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $service = Get-ServiceConfig -Name $Name
        if ($null -eq $service) { throw "there is no service $Name" }
        if ($service.state -eq $State) { return }
        $isDue = $asked -eq 0 -or $last.ElapsedMilliseconds -ge 2000
        if ($isDue -and -not $service.state.EndsWith('pending')) {
            if ($State -eq 'running' -and $asked -eq 3) {
                $why = "exit code $($service['exitCode']) $refusal".Trim()
                throw "service $Name stopped while it was starting, $why"
            }
            $asked++
            $refusal = "$(Request-ServiceChange -Name $Name -State $State)"
            $last.Restart()
        }
        $doing = "waiting for service $Name to be $State $refusal".Trim()
        $null = Get-TimeLeft -Doing $doing
        Start-Sleep -Milliseconds 200
    }
}

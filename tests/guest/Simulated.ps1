# Stands in for engine/Windows.ps1 under PowerShell 7 on any system: the same functions with the same parameters.
# The machine is $env:IMAGEGEN_SIMULATION: state.json (areas of named values), mirror/ (what URLs give) and the
# folder C, mounted as a drive by run.ps1. Functions named *-Simulation are its own.

function Get-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name)
    $path = "$env:IMAGEGEN_SIMULATION/state.json"
    if (-not [IO.File]::Exists($path)) { return $null }
    $state = [IO.File]::ReadAllText($path) | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey($Area)) { return $null }
    $value = $state[$Area][$Name.ToLowerInvariant()]
    if ($value -is [array]) { return , $value }
    $value
}

# $null takes the name away.
function Set-Simulation {
    [CmdletBinding()]
    param([string] $Area, [string] $Name, $Value)
    $path = "$env:IMAGEGEN_SIMULATION/state.json"
    $state = @{}
    if ([IO.File]::Exists($path)) { $state = [IO.File]::ReadAllText($path) | ConvertFrom-Json -AsHashtable }
    if (-not $state.ContainsKey($Area)) { $state[$Area] = @{} }
    $key = $Name.ToLowerInvariant()
    if ($null -eq $Value) {
        $state[$Area].Remove($key)
    } else {
        $state[$Area][$key] = $Value
    }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $state -Depth 8))
}

# Abilities that change something stop here when a test has them fail, each time or `once`.
function Confirm-Simulation {
    [CmdletBinding()]
    param([string] $Ability)
    $way = Get-Simulation -Area 'fails' -Name $Ability
    if ($null -eq $way) { return }
    if ($way -eq 'once') { Set-Simulation -Area 'fails' -Name $Ability -Value $null }
    throw "simulated failure of $Ability"
}

# What Task Scheduler starts at a moment: `startup` with Windows, `minute` and `day` after that. Nothing is started
# beside itself, and an exit code is no reason to start anything again.
function Step-Simulation {
    [CmdletBinding()]
    param([string] $Moment)
    if ($Moment -eq 'minute') { Resume-Simulation }
    $trigger = @{ startup = 'startup'; minute = 'minutely'; day = 'daily' }[$Moment]
    $state = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey('tasks')) { return }
    foreach ($name in @($state.tasks.Keys)) {
        $task = $state.tasks[$name]
        if (-not $task.enabled -or $task.trigger -ne $trigger) { continue }
        if ($null -eq (Get-Simulation -Area 'running' -Name $name)) { Start-Task -Name $name }
    }
}

# What recovery actions do a minute after services ended with an error: they start those that are not disabled.
function Resume-Simulation {
    [CmdletBinding()]
    param()
    $state = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    if (-not $state.ContainsKey('recoveries')) { return }
    foreach ($name in @($state.recoveries.Keys)) {
        Set-Simulation -Area 'recoveries' -Name $name -Value $null
        $config = Get-ServiceConfig -Name $name
        if ($null -eq $config -or $config.startType -eq 'disabled') { continue }
        Request-ServiceState -Name $name -State 'running'
    }
}

# Real programs, so that the loop over several downloads is the real one. `slow` never ends by itself, and
# `redirect URL` is an answer with a body that leads there.
function Get-DownloadCommand {
    [CmdletBinding()]
    param([string] $Url, [string] $Path)
    $own = @('--disable', '--globoff', '--fail', '--silent', '--show-error', '--write-out', '%{redirect_url}')
    $own += @('--output', $Path)
    if ($Url.StartsWith('file:')) { return @{ program = 'curl'; arguments = $own + $Url } }
    $file = Get-Simulation -Area 'urls' -Name $Url
    if ($file -eq 'slow') {
        $shell = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
        return @{ program = $shell; arguments = @('-NoProfile', '-Command', 'Start-Sleep -Seconds 600') }
    }
    # `reset N FILE`: the connection is reset N times, then the file comes.
    if ("$file" -match '^reset (\d+) (.+)$') {
        $left, $rest = [int]$Matches[1], $Matches[2]
        if ($left -gt 0) {
            Set-Simulation -Area 'urls' -Name $Url -Value "reset $($left - 1) $rest"
            $shell = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
            return @{ program = $shell; arguments = @('-NoProfile', '-Command', 'exit 56') }
        }
        $file = $rest
    }
    if ("$file" -match '^redirect (.+)$') {
        $answer = 'printf moved > "$1"; printf %s "$2"'
        return @{ program = 'sh'; arguments = @('-c', $answer, 'sh', $Path, $Matches[1]) }
    }
    if ($null -eq $file) { $file = 'no-such-file' }
    $source = "file://$env:IMAGEGEN_SIMULATION/mirror/$file"
    @{ program = 'curl'; arguments = $own + $source }
}

function Stop-ProcessTree {
    [CmdletBinding()]
    param([Diagnostics.Process] $Process)
    if (-not $Process.HasExited) { $Process.Kill($true) }
}

# A file whose name is `locked` in the area files is open in another process.
function Move-File {
    [CmdletBinding()]
    param([string] $From, [string] $To)
    Confirm-Simulation -Ability 'Move-File'
    if ((Get-Simulation -Area 'files' -Name ([IO.Path]::GetFileName($To))) -eq 'locked') {
        throw (New-Object -TypeName IO.IOException -ArgumentList 'it is being used by another process')
    }
    [IO.File]::Move($From, $To, $true)
    # The file has the rights of its folder, whatever the file before it had.
    $top = "$env:IMAGEGEN_SIMULATION/C"
    if ($To.StartsWith($top)) {
        Set-Simulation -Area 'sddl' -Name "C:$($To.Substring($top.Length).Replace('/', '\'))" -Value $null
    }
}

function Expand-TarMember {
    [CmdletBinding()]
    param([string] $Archive, [string] $Destination, [string[]] $Members)
    Confirm-Simulation -Ability 'Expand-TarMember'
    $null = Invoke-Native -Program 'tar' -Arguments (@('-xf', $Archive, '-C', $Destination, '--') + $Members)
}

function New-TarArchive {
    [CmdletBinding()]
    param([string] $Archive, [Collections.IDictionary] $Folders)
    $arguments = @('-cf', $Archive)
    foreach ($folder in $Folders.Keys) { $arguments += @('-C', $folder) + $Folders[$folder] }
    $null = Invoke-Native -Program 'tar' -Arguments $arguments
}

function Install-Msi {
    [CmdletBinding()]
    param([string] $Package, [string] $Log, [string[]] $Arguments = @())
    Confirm-Simulation -Ability 'Install-Msi'
    [IO.File]::WriteAllText($Log, "installed with $Arguments")
    $creates = Get-Simulation -Area 'packages' -Name ([IO.Path]::GetFileName($Package))
    Write-TextFile -Path $creates -Content 'installed'
    $false
}

# ctr and crictl: the store is the area `images`, name to digest and state.
function Invoke-ContainerdProgram {
    [CmdletBinding()]
    param([string[]] $Arguments)
    $last = $Arguments[-1]
    if ($Arguments -contains 'pull') {
        Confirm-Simulation -Ability 'pull'
        # As the CRI, which drops a tag that stands before a digest.
        $name, $digest = $last.Split('@')
        $name = $name -creplace ':[^:/]+$', ''
        Set-Simulation -Area 'images' -Name "$name@$digest" -Value "$digest complete (2/2)"
        return @{ exitCode = 0; output = "pulled`n" }
    }
    if ($Arguments -contains 'import') {
        Confirm-Simulation -Ability 'import'
        $layout = Invoke-Native -Program 'tar' -Arguments @('-xOf', $last, 'index.json')
        $layout = $layout.stdout | ConvertFrom-Json
        foreach ($manifest in $layout.manifests) {
            $name = $manifest.annotations.'io.containerd.image.name'
            Set-Simulation -Area 'images' -Name $name -Value "$($manifest.digest) complete (2/2)"
        }
        return @{ exitCode = 0; output = '' }
    }
    $reference = $last.Replace('name==', '')
    if ($Arguments -contains 'tag') {
        $source = Get-Simulation -Area 'images' -Name $Arguments[-2]
        if ($null -eq $source) { return @{ exitCode = 1; output = "image $($Arguments[-2]): not found`n" } }
        Set-Simulation -Area 'images' -Name $reference -Value $source
        return @{ exitCode = 0; output = "$reference`n" }
    }
    $status = Get-Simulation -Area 'images' -Name $reference
    $rows = 'REF TYPE DIGEST STATUS SIZE UNPACKED'
    if ($null -ne $status) { $rows += "`n$reference type/x $status 1.0/1.0 true" }
    @{ exitCode = 0; output = "$rows`n" }
}

# docker: the store is the area `dockerImages`, name to what `image inspect` prints. An image that was loaded has
# no digest of a registry.
function Invoke-DockerProgram {
    [CmdletBinding()]
    param([string[]] $Arguments)
    $last = $Arguments[-1]
    $verb = $Arguments[0]
    if ($verb -eq 'pull') {
        Confirm-Simulation -Ability 'pull'
        $found = @{ Id = 'sha256:1d'; RepoDigests = @($last) }
        Set-Simulation -Area 'dockerImages' -Name $last -Value $found
    } elseif ($verb -eq 'tag') {
        $found = Get-Simulation -Area 'dockerImages' -Name $Arguments[-2]
        if ($null -eq $found) { return @{ exitCode = 1; output = 'No such image' } }
        Set-Simulation -Area 'dockerImages' -Name $last -Value $found
    } elseif ($verb -eq 'load') {
        Confirm-Simulation -Ability 'import'
        $list = Invoke-Native -Program 'tar' -Arguments @('-xOf', $last, 'manifest.json')
        $list = $list.stdout | ConvertFrom-Json
        foreach ($item in $list) {
            $found = @{ Id = $item.Config.Replace('blobs/', '').Replace('/', ':'); RepoDigests = @() }
            foreach ($name in $item.RepoTags) { Set-Simulation -Area 'dockerImages' -Name $name -Value $found }
        }
    } else {
        $found = Get-Simulation -Area 'dockerImages' -Name $last
        if ($null -eq $found) { return @{ exitCode = 1; output = 'No such image' } }
        return @{ exitCode = 0; output = (ConvertTo-Json -InputObject @($found) -Depth 4) }
    }
    @{ exitCode = 0; output = '' }
}

# Runtimes are played, of every other program the state knows what it prints.
function Invoke-Program {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments = @(), [scriptblock] $Meanwhile)
    $isImage = $Arguments -contains 'pull' -or $Arguments -contains 'images'
    if ($Program -like '*\docker.exe') { return Invoke-DockerProgram -Arguments $Arguments }
    if ($isImage) { return Invoke-ContainerdProgram -Arguments $Arguments }
    $known = Get-Simulation -Area 'programs' -Name (@($Program) + $Arguments -join ' ')
    if ($null -eq $known) { return @{ exitCode = 1; output = 'not known to the simulation' } }
    if ($known['imageState']) { Set-Simulation -Area 'os' -Name 'imageState' -Value $known['imageState'] }
    if ($known['flags']) { Write-TextFile -Path 'C:\var\lib\kubelet\kubeadm-flags.env' -Content $known['flags'] }
    if ($null -ne $Meanwhile) { & $Meanwhile }
    if ($known['creates']) { Write-TextFile -Path $known['creates'] -Content 'created' }
    @{ exitCode = [int]$known.exitCode; output = $known.output }
}

# The one script that is started so disables the kubelet first, and has no machine of its own here.
function Start-Detached {
    [CmdletBinding()]
    param([string] $Script, [string[]] $Arguments = @())
    Confirm-Simulation -Ability 'Start-Detached'
    Set-Simulation -Area 'os' -Name 'detached' -Value (@([IO.Path]::GetFileName($Script)) + $Arguments -join ' ')
    Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
}

function Get-Sddl {
    [CmdletBinding()]
    param([string] $Path)
    $sddl = Get-Simulation -Area 'sddl' -Name $Path
    if ($null -eq $sddl) { 'O:BAG:SYD:AI(A;OICIID;FA;;;BA)' } else { $sddl }
}

# An access list as .NET and Windows give it back: facts.json says what is known of that.
function ConvertTo-StoredSddl {
    [CmdletBinding()]
    param([string] $Sddl, [bool] $Leaf)
    if ($Sddl -notmatch '^(O:[^:]+G:[^:]+D:)(PAI|AI|P)?((?:\([^)]*\))*)$') { throw "no access list: $Sddl" }
    $head, $control, $list = $Matches[1], $Matches[2], "$($Matches[3])"
    if ($control -eq 'P') { $control = 'PAI' }
    $letters = @{ 'S-1-5-18' = 'SY'; 'S-1-5-32-544' = 'BA'; 'S-1-5-32-545' = 'BU' }
    $order = @{ SY = 'S-1-5-18'; BA = 'S-1-5-32-544'; BU = 'S-1-5-32-545' }
    $entries = @(foreach ($found in [regex]::Matches($list, '\(([^)]*)\)')) {
        $kind, $flags, $rights, $object, $inherited, $who = $found.Groups[1].Value.Split(';')
        $given = @([regex]::Matches($flags, '..') | ForEach-Object { $_.Value })
        $known = @('OI', 'CI', 'NP', 'IO', 'ID')
        if ($Leaf) { $known = @('ID') }
        $flags = @($known | Where-Object { $given -ccontains $_ }) -join ''
        if ($rights -ceq 'FRFX') { $rights = '0x1200a9' }
        if ($letters.ContainsKey($who)) { $who = $letters[$who] }
        $key = $who
        if ($order.ContainsKey($who)) { $key = $order[$who] }
        @{ key = $key; text = "($kind;$flags;$rights;$object;$inherited;$who)" }
    })
    $sorted = @($entries | Sort-Object -Property { $_.key } -Stable | ForEach-Object { $_.text })
    "$head$control$($sorted -join '')"
}

function Set-Sddl {
    [CmdletBinding()]
    param([string] $Path, [string] $Sddl)
    Confirm-Simulation -Ability 'Set-Sddl'
    if (-not (Test-Path -LiteralPath $Path)) { throw "there is no $Path" }
    $leaf = Test-Path -LiteralPath $Path -PathType Leaf
    Set-Simulation -Area 'sddl' -Name $Path -Value (ConvertTo-StoredSddl -Sddl $Sddl -Leaf $leaf)
}

function Get-LinkTarget {
    [CmdletBinding()]
    param([string] $Path)
    Get-Simulation -Area 'links' -Name $Path
}

function New-Link {
    [CmdletBinding()]
    param([string] $Path, [string] $Target)
    Confirm-Simulation -Ability 'New-Link'
    if (-not (Test-Path -LiteralPath $Target)) { throw "there is no $Target for the link $Path" }
    Set-Simulation -Area 'links' -Name $Path -Value $Target
}

function Remove-Link {
    [CmdletBinding()]
    param([string] $Path)
    if ($null -eq (Get-LinkTarget -Path $Path)) { throw "there is no link $Path" }
    Set-Simulation -Area 'links' -Name $Path -Value $null
}

function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    Get-Simulation -Area 'registry' -Name "$Key!$Name"
}

function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    Confirm-Simulation -Ability 'Set-RegistryValue'
    switch -CaseSensitive ($Kind) {
        'DWord' { $null = [uint32]$Data }
        'QWord' { $null = [uint64]$Data }
        'Binary' { $null = ConvertFrom-Hex -Text $Data }
        'MultiString' { $Data = @($Data) }
        'String' { $Data = [string]$Data }
        'ExpandString' { $Data = [string]$Data }
        default { throw "the registry has no values of kind $Kind" }
    }
    Set-Simulation -Area 'registry' -Name "$Key!$Name" -Value @{ kind = $Kind; data = $Data }
}

function Remove-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    Confirm-Simulation -Ability 'Remove-RegistryValue'
    if ($null -eq (Get-RegistryValue -Key $Key -Name $Name)) { throw "$Key has no value $Name" }
    Set-Simulation -Area 'registry' -Name "$Key!$Name" -Value $null
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
    Get-Simulation -Area 'services' -Name $Name
}

function New-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name, [string] $CommandLine)
    Confirm-Simulation -Ability 'New-ServiceEntry'
    if ($null -ne (Get-ServiceConfig -Name $Name)) { throw "there is a service $Name already" }
    $config = @{ startType = 'manual'; dependsOn = @(); displayName = $Name; state = 'stopped'; exitCode = 0 }
    $config.commandLine = $CommandLine
    Set-Simulation -Area 'services' -Name $Name -Value $config
}

function Set-ServiceConfig {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Change)
    Confirm-Simulation -Ability 'Set-ServiceConfig'
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config) { throw "there is no service $Name" }
    foreach ($property in $Change.Keys) { $config[$property] = $Change[$property] }
    Set-Simulation -Area 'services' -Name $Name -Value $config
}

function Set-ServiceStart {
    [CmdletBinding()]
    param([string] $Name, [string] $StartType)
    Confirm-Simulation -Ability 'Set-ServiceStart'
    Set-ServiceConfig -Name $Name -Change @{ startType = $StartType }
}

# Writes the registry's own form, which is what the engine reads back.
function Set-ServiceFailure {
    [CmdletBinding()]
    param([string] $Name, [long] $ResetSeconds, [object[]] $Actions = @())
    Confirm-Simulation -Ability 'Set-ServiceFailure'
    $kinds = @{ none = 0; restart = 1; reboot = 2 }
    $words = @([uint32]$ResetSeconds, 0, 0, $Actions.Count, 20)
    foreach ($action in $Actions) { $words += @($kinds[$action.action], (1000 * $action.delaySeconds)) }
    $bytes = foreach ($word in $words) { [BitConverter]::GetBytes([uint32]$word) }
    $hex = [BitConverter]::ToString([byte[]]@($bytes)).Replace('-', '').ToLowerInvariant()
    Set-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActions' -Kind 'Binary' -Data $hex
}

function Set-ServiceFailureFlag {
    [CmdletBinding()]
    param([string] $Name, [bool] $Flag)
    Confirm-Simulation -Ability 'Set-ServiceFailureFlag'
    $value = @{ Kind = 'DWord'; Data = [int]$Flag }
    Set-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActionsOnNonCrashFailures' @value
}

# A service with the display name `hangs` stays pending, and one named `dies` ends while it starts; one that is
# disabled does not start. The end of one with `stopsWithError` is a failure for its recovery actions.
function Request-ServiceState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    Confirm-Simulation -Ability 'Request-ServiceState'
    $config = Get-Simulation -Area 'services' -Name $Name
    if ($null -eq $config) { throw "there is no service $Name" }
    if ($config.state -eq $State) { return }
    Request-Neighbour -Name $Name -State $State
    if ($State -eq 'running' -and $config.startType -eq 'disabled') { throw "$Name is disabled" }
    $end = @{ hangs = "$State pending"; dies = 'stopped' }[$config.displayName]
    if (-not $end) { $end = $State }
    Set-ServiceConfig -Name $Name -Change @{ state = $end }
    if ($end -eq 'running') { Set-Simulation -Area 'recoveries' -Name $Name -Value $null }
    if ($end -ne 'stopped' -or -not $config['stopsWithError']) { return }
    $binary = Get-RegistryValue -Key (Get-ServiceKey -Name $Name) -Name 'FailureActions'
    if ($null -eq $binary) { return }
    $failure = ConvertFrom-FailureAction -Hex $binary.data
    $actions = @($failure.actions | ForEach-Object { $_.action })
    if ($actions -contains 'restart') { Set-Simulation -Area 'recoveries' -Name $Name -Value 'due' }
}

# A service is started after those that it depends on, and stopped after those that depend on it.
function Request-Neighbour {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    $machine = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    $all = $machine['services']
    $own = @($all[$Name.ToLowerInvariant()]['dependsOn'])
    foreach ($other in @($all.Keys)) {
        $needed = $State -eq 'running' -and $own -contains $other
        $needing = $State -eq 'stopped' -and @($all[$other]['dependsOn']) -contains $Name
        if ($needed -or $needing) { Request-ServiceState -Name $other -State $State }
    }
}

function Remove-ServiceEntry {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Remove-ServiceEntry'
    if ($null -eq (Get-ServiceConfig -Name $Name)) { throw "there is no service $Name" }
    Set-Simulation -Area 'services' -Name $Name -Value $null
}

function Test-Feature {
    [CmdletBinding()]
    param([string] $Name)
    (Get-Simulation -Area 'features' -Name $Name) -eq 'installed'
}

function Set-Feature {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    Confirm-Simulation -Ability 'Set-Feature'
    if (Test-PendingRestart) { throw 'The computer must be restarted to complete another installation' }
    $state = 'removing'
    if ($Installed) { $state = 'pending' }
    Set-Simulation -Area 'features' -Name $Name -Value $state
    $true
}

function Test-PendingRestart {
    [CmdletBinding()]
    param()
    $null -ne (Get-Simulation -Area 'os' -Name 'pendingRestart')
}

function Get-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    Get-Simulation -Area 'firewall' -Name $Name
}

# A network as Windows gives it back, with a mask.
function ConvertTo-Mask {
    [CmdletBinding()]
    param([string] $Address)
    if ($Address -notmatch '^(\d+\.\d+\.\d+\.\d+)/(\d+)$') { return $Address }
    $network, $length = $Matches[1], [int]$Matches[2]
    $octets = foreach ($start in 0, 8, 16, 24) {
        $bits = [Math]::Max(0, [Math]::Min(8, $length - $start))
        256 - [int][Math]::Pow(2, 8 - $bits)
    }
    "$network/$($octets -join '.')"
}

function New-FirewallRule {
    [CmdletBinding()]
    param([string] $Name, [hashtable] $Properties)
    Confirm-Simulation -Ability 'New-FirewallRule'
    if ($null -ne (Get-FirewallRule -Name $Name)) { throw "there is a rule $Name already" }
    $rule = @{ displayName = ''; direction = 'Inbound'; action = 'Allow'; protocol = 'Any'; active = $true }
    $rule.icmpType = 'Any'
    $rule.localUser = 'Any'
    foreach ($property in 'localPort', 'remotePort', 'remoteAddress') { $rule[$property] = @('Any') }
    foreach ($property in @($rule.Keys)) {
        if ($Properties.ContainsKey($property)) { $rule[$property] = $Properties[$property] }
    }
    $rule.remoteAddress = @($rule.remoteAddress | ForEach-Object { ConvertTo-Mask -Address $_ })
    $rule.localUser = $rule.localUser.Replace(';S-1-5-18)', ';SY)').Replace(';S-1-1-0)', ';WD)')
    Set-Simulation -Area 'firewall' -Name $Name -Value $rule
}

function Remove-FirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    if ($null -eq (Get-FirewallRule -Name $Name)) { throw "there is no rule $Name" }
    Set-Simulation -Area 'firewall' -Name $Name -Value $null
}

function Get-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $range = Get-Simulation -Area 'dynamicPorts' -Name $Protocol
    if ($null -eq $range) { @{ start = 49152; count = 16384 } } else { $range }
}

function Set-DynamicPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    Confirm-Simulation -Ability 'Set-DynamicPort'
    Set-Simulation -Area 'dynamicPorts' -Name $Protocol -Value @{ start = $Start; count = $Count }
}

function Get-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol)
    $ranges = Get-Simulation -Area 'excludedPorts' -Name $Protocol
    if ($null -ne $ranges) { $ranges | ForEach-Object { $_ } }
}

function Add-ExcludedPort {
    [CmdletBinding()]
    param([string] $Protocol, [int] $Start, [int] $Count)
    Confirm-Simulation -Ability 'Add-ExcludedPort'
    $ranges = @(Get-ExcludedPort -Protocol $Protocol)
    $end = $Start + $Count
    if (@($ranges | Where-Object { $_.start -lt $end -and $Start -lt $_.start + $_.count }).Count -gt 0) {
        throw "ports from $Start on are excluded already"
    }
    $ranges += @{ start = $Start; count = $Count }
    Set-Simulation -Area 'excludedPorts' -Name $Protocol -Value $ranges
}

function Test-Defender {
    [CmdletBinding()]
    param()
    $null -eq (Get-Simulation -Area 'os' -Name 'noDefender')
}

function Get-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind)
    if (-not (Test-Defender)) { throw 'Get-MpPreference is not recognized' }
    $values = Get-Simulation -Area 'defender' -Name $Kind
    if ($null -ne $values) { $values | ForEach-Object { $_ } }
}

function Set-DefenderExclusion {
    [CmdletBinding()]
    param([string] $Kind, [string] $Value, [bool] $Present)
    Confirm-Simulation -Ability 'Set-DefenderExclusion'
    $values = @(Get-DefenderExclusion -Kind $Kind | Where-Object { $_ -ne $Value })
    if ($Present) { $values += $Value }
    Set-Simulation -Area 'defender' -Name $Kind -Value $values
}

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

function Get-UserState {
    [CmdletBinding()]
    param([string] $Name)
    $state = Get-Simulation -Area 'users' -Name $Name
    if ($null -eq $state) { 'absent' } else { $state }
}

# An account whose name is in the area administrators has the relative id 500.
function Test-BuiltInAdministrator {
    [CmdletBinding()]
    param([string] $Name)
    $null -ne (Get-Simulation -Area 'administrators' -Name $Name)
}

function Set-UserState {
    [CmdletBinding()]
    param([string] $Name, [string] $State)
    Confirm-Simulation -Ability 'Set-UserState'
    if ((Get-UserState -Name $Name) -eq 'absent') { throw "there is no account $Name" }
    $value = @{ present = 'present'; disabled = 'disabled' }[$State]
    Set-Simulation -Area 'users' -Name $Name -Value $value
}

function Get-OsBuild {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'build'
}

function Get-ImageState {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'imageState'
}

# An answer file that holds `hangs` never gets the image generalised.
function Invoke-Sysprep {
    [CmdletBinding()]
    param([string] $Unattend, [string] $Finish)
    Confirm-Simulation -Ability 'Invoke-Sysprep'
    if ([IO.File]::ReadAllText((Resolve-NativePath -Path $Unattend)).Contains('hangs')) { return }
    Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
}

function Get-SysprepError {
    [CmdletBinding()]
    param()
    'last line of setuperr.log'
}

function Invoke-AsSystem {
    [CmdletBinding()]
    param([string] $Program, [string] $ArgumentLine)
    (Invoke-Program -Program $Program -Arguments @($ArgumentLine)).exitCode
}

function Test-Hotfix {
    [CmdletBinding()]
    param([string] $Kb)
    $null -ne (Get-Simulation -Area 'hotfixes' -Name $Kb)
}

# The update's name is the last word of the package's. `hotfixOutcome` is what comes of every
# package instead, of which the list of updates names none.
function Install-Hotfix {
    [CmdletBinding()]
    param([string] $Package)
    Confirm-Simulation -Ability 'Install-Hotfix'
    $outcome = Get-Simulation -Area 'os' -Name 'hotfixOutcome'
    if ($null -ne $outcome) { return $outcome }
    $name = [IO.Path]::GetFileNameWithoutExtension($Package.Replace('\', '/')).Split('-')[-1]
    Set-Simulation -Area 'hotfixes' -Name $name -Value 'installed'
    'restart'
}

# All is missing until it is installed.
function Invoke-UpdateAgent {
    [CmdletBinding()]
    param([string[]] $Kbs = @(), [string[]] $Categories = @(), [bool] $Install)
    if ($Install) { Confirm-Simulation -Ability 'Invoke-UpdateAgent' }
    $wanted = @($Kbs) + @($Categories)
    if ($Install) { foreach ($name in $wanted) { Set-Simulation -Area 'updates' -Name $name -Value 'installed' } }
    $missing = @($wanted | Where-Object { $null -eq (Get-Simulation -Area 'updates' -Name $_) })
    [pscustomobject]@{ missing = $missing; restart = $Install }
}

function Get-PowerShellPath {
    [CmdletBinding()]
    param()
    [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
}

function Test-Capability {
    [CmdletBinding()]
    param([string] $Name)
    (Get-Simulation -Area 'capabilities' -Name $Name) -eq 'installed'
}

function Set-Capability {
    [CmdletBinding()]
    param([string] $Name, [bool] $Installed)
    Confirm-Simulation -Ability 'Set-Capability'
    $state = $null
    if ($Installed) { $state = 'installed' }
    Set-Simulation -Area 'capabilities' -Name $Name -Value $state
    $false
}

function Get-Task {
    [CmdletBinding()]
    param([string] $Name)
    Get-Simulation -Area 'tasks' -Name $Name
}

function Set-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program, [string] $ArgumentLine, [string] $Trigger, [bool] $Enabled)
    Confirm-Simulation -Ability 'Set-Task'
    if ($null -ne (Get-Simulation -Area 'os' -Name 'noTasks')) { throw 'Access is denied' }
    $task = @{ program = $Program; argumentLine = $ArgumentLine; trigger = $Trigger; enabled = $Enabled }
    Set-Simulation -Area 'tasks' -Name $Name -Value $task
}

# A program that the state does not know goes on; one that it knows has ended with its exit code.
function Start-Task {
    [CmdletBinding()]
    param([string] $Name)
    Confirm-Simulation -Ability 'Start-Task'
    $task = Get-Task -Name $Name
    if ($null -eq $task) { throw "there is no task $Name" }
    Set-Simulation -Area 'turns' -Name $Name -Value (1 + [int](Get-Simulation -Area 'turns' -Name $Name))
    $line = "$($task.program) $($task.argumentLine)".Trim()
    $known = Get-Simulation -Area 'programs' -Name $line
    if ($null -eq $known) { Set-Simulation -Area 'running' -Name $Name -Value 'task' }
    # As the script that it starts.
    if ($Name -eq 'imagegen-watch') { Set-ServiceStart -Name 'kubelet' -StartType 'disabled' }
}

function Stop-Task {
    [CmdletBinding()]
    param([string] $Name, [string] $Program)
    if (-not $Program) { throw "$Name has a program" }
    if ($null -eq (Get-Task -Name $Name)) { throw "there is no task $Name" }
    Set-Simulation -Area 'running' -Name $Name -Value $null
}

function Remove-Task {
    [CmdletBinding()]
    param([string] $Name)
    if ($null -eq (Get-Task -Name $Name)) { throw "there is no task $Name" }
    Set-Simulation -Area 'tasks' -Name $Name -Value $null
}

function Get-NetworkCard {
    [CmdletBinding()]
    param([string] $Address)
    if (-not (Test-NetworkAddress -Address $Address)) { throw "no card has the address $Address" }
    @{ name = (Get-Simulation -Area 'cards' -Name $Address); length = 20 }
}

function Test-NetworkAddress {
    [CmdletBinding()]
    param([string] $Address)
    $null -ne (Get-Simulation -Area 'cards' -Name $Address)
}

function Enable-Forwarding {
    [CmdletBinding()]
    param([string] $Address)
    if (-not (Test-NetworkAddress -Address $Address)) { throw "no card has the address $Address" }
    Set-Simulation -Area 'forwarding' -Name $Address -Value 'enabled'
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

# Kinds are areas of their own; a network's name is its ID too. One of type NAT gets its addresses when it is made.
# A new network has the machine's address when it is asked for again; an end that is attached to the host gives it
# its address.
function Invoke-HostNetwork {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Body = '')
    Confirm-Simulation -Ability 'Invoke-HostNetwork'
    $null, $kind, $name, $action = $Path.Split('/')
    $there = $null
    if ($name) {
        $there = Get-Simulation -Area $kind -Name $name
        if ($null -eq $there) { throw "host networks: $Method $Path failed: not found" }
    }
    if ($Method -eq 'DELETE') { return Set-Simulation -Area $kind -Name $name -Value $null }
    if ($action -eq 'attach') {
        $end = $there
        if (Test-NetworkAddress -Address $end.IPAddress) { throw "host networks: $Path failed: it is attached" }
        return Set-Simulation -Area 'cards' -Name $end.IPAddress -Value "vEthernet ($name)"
    }
    if ($Method -eq 'POST') {
        $item = $Body | ConvertFrom-Json -AsHashtable
        $item.ID = $item.Name
        if ($item['Type'] -eq 'NAT') {
            $item.Subnets = @(@{ AddressPrefix = '172.20.0.0/20'; GatewayAddress = '172.20.0.1' })
        }
        Set-Simulation -Area $kind -Name $item.Name -Value $item
        return ConvertTo-HostItem -Item $item
    }
    if ($null -ne $there) {
        $there.ManagementIP = '10.1.18.7'
        return ConvertTo-HostItem -Item $there
    }
    $state = [IO.File]::ReadAllText("$env:IMAGEGEN_SIMULATION/state.json") | ConvertFrom-Json -AsHashtable
    if ($state.ContainsKey($kind)) { $state[$kind].Values | ForEach-Object { ConvertTo-HostItem -Item $_ } }
}

# As the host network service answers: objects in objects, for which hashtables are no stand-in.
function ConvertTo-HostItem {
    [CmdletBinding()]
    param($Item)
    ConvertTo-Json -InputObject $Item -Depth 8 | ConvertFrom-Json
}

function Get-PowerPlan {
    [CmdletBinding()]
    param()
    Get-Simulation -Area 'os' -Name 'powerPlan'
}

function Set-PowerPlan {
    [CmdletBinding()]
    param([string] $Plan)
    Confirm-Simulation -Ability 'Set-PowerPlan'
    Set-Simulation -Area 'os' -Name 'powerPlan' -Value $Plan
}

function Get-MemoryKey {
    [CmdletBinding()]
    param()
    'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
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

function Get-UrlText {
    [CmdletBinding()]
    param([string] $Url)
    Get-Simulation -Area 'pages' -Name $Url
}

function Get-EventText {
    [CmdletBinding()]
    param([int] $Hours)
    "$(Get-Simulation -Area 'os' -Name 'events')"
}

# The simulation runs in PowerShell 7, so its shell is one that a test says.
function Get-ShellObstacle {
    [CmdletBinding()]
    param()
    $obstacle = Get-Simulation -Area 'os' -Name 'shell'
    if ($null -ne $obstacle) { $obstacle }
}

function Test-Administrator {
    [CmdletBinding()]
    param()
    $null -eq (Get-Simulation -Area 'os' -Name 'guest')
}

function Get-FreeSpace {
    [CmdletBinding()]
    param()
    $free = Get-Simulation -Area 'os' -Name 'free'
    if ($null -eq $free) { 64GB } else { [long]$free }
}

function Request-Restart {
    [CmdletBinding()]
    param()
    Set-Simulation -Area 'os' -Name 'restart' -Value 'asked'
}

function Get-ChildPolicy {
    [CmdletBinding()]
    param()
    if ("$(Get-Simulation -Area 'policy' -Name 'execution')" -eq 'AllSigned') { 'AllSigned' } else { 'Bypass' }
}

# The bytes of a store's certificates, in base64.
function Open-CertificateStore {
    [CmdletBinding()]
    param([string] $Store, [string] $Access)
    @("$(Get-Simulation -Area 'certificates' -Name $Store)".Split(' ') | Where-Object { $_ })
}

function Get-StoreDigest {
    [CmdletBinding()]
    param([string] $Store)
    foreach ($content in @(Open-CertificateStore -Store $Store -Access 'ReadOnly')) {
        Get-ByteDigest -Bytes (ConvertTo-Certificate -Content $content)
    }
}

function ConvertTo-Certificate {
    [CmdletBinding()]
    param([string] $Content)
    , [Convert]::FromBase64String($Content)
}

function Add-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    Confirm-Simulation -Ability 'Add-StoreCertificate'
    $all = @(Open-CertificateStore -Store $Store -Access 'ReadWrite') + @($Content)
    Set-Simulation -Area 'certificates' -Name $Store -Value ($all -join ' ')
}

function Write-EventLine {
    [CmdletBinding()]
    param([string] $Text)
    Set-Simulation -Area 'os' -Name 'event' -Value $Text
}

function Write-SerialLine {
    [CmdletBinding()]
    param([string] $Port, [string] $Text)
    Set-Simulation -Area 'os' -Name 'serial' -Value "$Port $Text"
}

function Remove-StoreCertificate {
    [CmdletBinding()]
    param([string] $Store, [string] $Content)
    $all = @(Open-CertificateStore -Store $Store -Access 'ReadWrite' | Where-Object { $_ -cne $Content })
    Set-Simulation -Area 'certificates' -Name $Store -Value ($all -join ' ')
}

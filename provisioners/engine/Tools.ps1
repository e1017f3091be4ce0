# What resources and platform share. Nothing here exists on Windows alone. Engine.psm1 sets $script:Root, the
# folder of the plan.
. "$PSScriptRoot/Native.ps1"
. "$PSScriptRoot/Files.ps1"
. "$PSScriptRoot/Downloads.ps1"
. "$PSScriptRoot/Images.ps1"

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
    [IO.File]::ReadAllText($path) | ConvertFrom-Json
}

function Write-Record {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Record)
    Write-TextFile -Path (Get-RecordPath) -Content (ConvertTo-Json -InputObject $Record -Depth 4)
}

# The wanted list where the found one has the same members in another order or case, else the found one.
function Select-Order {
    [CmdletBinding()]
    param([string[]] $Wanted = @(), [string[]] $Found = @())
    $left = @($Wanted | Sort-Object) -join "`n"
    $right = @($Found | Sort-Object) -join "`n"
    if ($null -ne $Wanted -and $left -ieq $right) { $Wanted } else { $Found }
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

# Waits, in the time of the resource in hand, until a service is running or stopped. A service that stops while
# it starts is started up to three times, because something that it needs may start later.
function Wait-ServiceState {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [Parameter(Mandatory)] [string] $State)
    $asked = 0
    while ($true) {
        $service = Get-ServiceConfig -Name $Name
        if ($null -eq $service) { throw "there is no service $Name" }
        if ($service.state -eq $State) { return }
        if ($asked -eq 0 -or ($State -eq 'running' -and $service.state -eq 'stopped')) {
            if ($asked -eq 3) {
                throw "service $Name stopped while it was starting, exit code $($service['exitCode'])"
            }
            $asked++
            Request-ServiceState -Name $Name -State $State
        }
        $null = Get-TimeLeft -Doing "waiting for service $Name to be $State"
        Start-Sleep -Milliseconds 200
    }
}

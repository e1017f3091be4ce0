# The payload of another version, and what must hold before it is put in place. Loaded by Node.psm1.

# The parts of a version that decide which of two is newer: `1.37.0-rc.1` comes before `1.37.0`.
function ConvertTo-VersionPart {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    $parts = $Text.Split('+')[0].Split([char[]]'-', 2)
    # Sorts behind every pre-release.
    $before = '~'
    if ($parts.Count -gt 1) {
        $before = [regex]::Replace($parts[1], '[0-9]+', { param($number) $number.Value.PadLeft(9, '0') })
    }
    @{ core = [version]$parts[0]; before = $before }
}

# The service of the plan that runs containers.
function Get-RuntimeService {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan)
    $services = @($Plan.resources | Where-Object { $_.type -eq 'service' })
    $names = @($services | ForEach-Object { $_.properties.serviceName })
    'containerd', 'docker' | Where-Object { $names -contains $_ }
}

# A plan of another machine or of an older Kubernetes is no upgrade; minors are taken one at a time. With another
# runtime the node would have two, and pods in both.
function Assert-Upgrade {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $From, [Parameter(Mandatory)] $To)
    foreach ($name in 'schema', 'target', 'windows') {
        if ($From.$name -cne $To.$name) { throw "the payload's $name is $($To.$name), this node's $($From.$name)" }
    }
    $runtimes = foreach ($plan in $From, $To) { "$(Get-RuntimeService -Plan $plan)" }
    if ($runtimes[0] -cne $runtimes[1]) {
        throw "the payload's container runtime is $($runtimes[1]), this node's $($runtimes[0]): make a new node"
    }
    $old = ConvertTo-VersionPart -Text $From.kubernetes
    $new = ConvertTo-VersionPart -Text $To.kubernetes
    $older = $new.core -lt $old.core
    if ($new.core -eq $old.core) { $older = [string]::CompareOrdinal($new.before, $old.before) -lt 0 }
    if ($older -or $new.core.Major -ne $old.core.Major -or $new.core.Minor -gt $old.core.Minor + 1) {
        throw "from Kubernetes $($From.kubernetes) to $($To.kubernetes) is no upgrade of at most one minor version"
    }
}

# Folder of the payload that comes, or of the one that was.
function Get-PayloadFolder {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [ValidateSet('next', 'previous')] [string] $Name)
    Join-Path -Path $script:Root -ChildPath $Name
}

# Unpacks a payload whose digest is the expected one. The one in use is not touched. The digest is that of a copy,
# which only administrators can change: others may write to the folder that the payload lies in.
function Expand-Payload {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Payload, [Parameter(Mandatory)] [string] $Sha256)
    if (-not (Test-Path -LiteralPath $Payload -PathType Leaf)) { throw "there is no $Payload" }
    Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
    $next = Get-PayloadFolder -Name 'next'
    $null = [IO.Directory]::CreateDirectory($next)
    Clear-Folder -Path $next
    $copy = New-Partial -Target "$next.zip"
    try {
        Copy-File -From (Resolve-NativePath -Path $Payload) -To $copy
        $found = Get-Digest -Path $copy
        if ($found -cne $Sha256.ToLowerInvariant()) { throw "digest of $Payload is $found, expected is $Sha256" }
        [IO.Compression.ZipFile]::ExtractToDirectory($copy, $next)
    } finally {
        [IO.File]::Delete($copy)
    }
    $plans = foreach ($folder in $script:Root, $next) {
        [IO.File]::ReadAllText("$folder/guest-plan.json") | ConvertFrom-Json
    }
    Assert-Upgrade -From $plans[0] -To $plans[1]
}

# An archive's member and its place as one text.
function Format-Member {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Archive, [Parameter(Mandatory)] $Item)
    "$($Archive.properties.digest) $($Item.member) $($Item.path)"
}

# Files that are there and that the next plan replaces by other bytes. Of a member without a digest of its own, the
# archive tells.
function Get-ReplacedFile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $From, [Parameter(Mandatory)] $To)
    $known = @(foreach ($resource in @($From.resources | Where-Object { $_.type -eq 'archive' })) {
        foreach ($item in $resource.properties.members) { Format-Member -Archive $resource -Item $item }
    })
    foreach ($resource in $To.resources) {
        $properties = $resource.properties
        if ($resource.type -eq 'artifact') {
            $found = Get-Digest -Path $properties.path -Algorithm $properties.algorithm
            if ($null -ne $found -and $found -cne $properties.digest) { $properties.path }
        } elseif ($resource.type -eq 'archive') {
            foreach ($item in $properties.members) {
                $found = Get-Digest -Path $item.path
                $pinned = Get-MemberDigest -Item $item
                $same = $found -ceq $pinned
                if ($null -eq $pinned) { $same = $known -ccontains (Format-Member -Archive $resource -Item $item) }
                if ($null -ne $found -and -not $same) { $item.path }
            }
        }
    }
}

# Services of the plan in use, such as agents and an SSH server, that run one of the files.
function Get-FileService {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [string[]] $Path = @())
    foreach ($resource in @($Plan.resources | Where-Object { $_.type -eq 'service' })) {
        $name = $resource.properties.serviceName
        $service = Get-ServiceConfig -Name $name
        if ($null -eq $service -or $service.state -ne 'running') { continue }
        $line = "$($service.commandLine)".TrimStart('"')
        $found = @($Path | Where-Object { $line.StartsWith($_, [StringComparison]::OrdinalIgnoreCase) })
        if ($found.Count -gt 0) { $name }
    }
}

# Stops the services whose program is replaced, and gives their names. Refuses an upgrade that would stop in its
# middle because another program keeps a file open.
function Stop-FileService {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'stopping services' -Seconds $Seconds
    $plans = foreach ($folder in $script:Root, (Get-PayloadFolder -Name 'next')) {
        [IO.File]::ReadAllText("$folder/guest-plan.json") | ConvertFrom-Json
    }
    $paths = @(Get-ReplacedFile -From $plans[0] -To $plans[1])
    $names = @(Get-FileService -Plan $plans[0] -Path $paths)
    Stop-NodeService -Names $names
    try {
        Assert-Replaceable -Path $paths
    } catch {
        Start-FileService -Names $names -Seconds $Seconds
        throw
    }
    $names
}

function Start-FileService {
    [CmdletBinding()]
    param([string[]] $Names = @(), [Parameter(Mandatory)] [int] $Seconds)
    Start-Deadline -Name 'starting services' -Seconds $Seconds
    Start-NodeService -Names $Names
}

function Assert-Replaceable {
    [CmdletBinding()]
    param([string[]] $Path = @())
    foreach ($file in $Path) {
        $native = Resolve-NativePath -Path $file
        try {
            Clear-ReadOnly -Path $native
            # A service that has stopped says so before its process has ended.
            Invoke-FileAction -Action { [IO.File]::Open($native, 'Open', 'ReadWrite', 'None').Dispose() }
        } catch {
            throw "$file cannot be replaced: $($_.Exception.GetBaseException().Message)"
        }
    }
}

# Windows moves no folder that a program has open or is in, as a shell is in its current folder. Each one is moved
# aside and back while everything still runs, because later the node's pods are gone already. Where the machine
# stops between the two, its next start brings the folder back.
function Assert-Movable {
    [CmdletBinding()]
    param()
    # This process may have been started in one of them.
    [IO.Directory]::SetCurrentDirectory([IO.Path]::GetPathRoot((Resolve-NativePath -Path $script:Root)))
    Register-Return -Aside
    try {
        foreach ($name in 'engine', 'node', 'resources') {
            Confirm-Movable -Place (Resolve-NativePath -Path "$($script:Root)/$name")
        }
    } finally {
        Unregister-Return
    }
}

# One folder of them. One that is opened meanwhile is copied back: without it no script of the node would start.
function Confirm-Movable {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Place)
    if ([IO.Directory]::Exists("$Place.aside")) {
        throw "$Place cannot be moved: an upgrade before has left $Place.aside, remove it and try again"
    }
    try {
        Invoke-FileAction -Action { [IO.Directory]::Move($Place, "$Place.aside") }
    } catch {
        $cause = $_.Exception.GetBaseException().Message
        throw "$Place cannot be moved: close shells and programs that are in that folder ($cause)"
    }
    try {
        Invoke-FileAction -Action { [IO.Directory]::Move("$Place.aside", $Place) }
    } catch {
        Copy-Item -LiteralPath "$Place.aside" -Destination $Place -Recurse -Force
        Set-Sddl -Path $Place -Sddl (Get-Sddl -Path "$Place.aside")
        $cause = $_.Exception.GetBaseException().Message
        throw "a program has opened ${Place}: close it, remove $Place.aside, and try again ($cause)"
    }
}

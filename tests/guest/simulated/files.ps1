# Downloads, archives, access rights and links.

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

# What is named `locked` in the area files is open in another process, with `held` N for N tries.
function Confirm-Free {
    [CmdletBinding()]
    param([string] $Path)
    $leaf = [IO.Path]::GetFileName($Path)
    $state = "$(Get-Simulation -Area 'files' -Name $leaf)"
    if ($state -match '^held (\d+)$') {
        $left = [int]$Matches[1]
        $state = 'locked'
        Set-Simulation -Area 'files' -Name $leaf -Value "held $($left - 1)"
        if ($left -eq 0) { $state = '' }
    }
    if ($state -eq 'locked') {
        throw (New-Object -TypeName IO.IOException -ArgumentList 'it is being used by another process')
    }
}

# One that is marked as read-only is not replaced.
function Move-File {
    [CmdletBinding()]
    param([string] $From, [string] $To)
    Confirm-Simulation -Ability 'Move-File'
    Confirm-Free -Path $To
    if ([IO.File]::Exists($To) -and ([IO.File]::GetAttributes($To) -band [IO.FileAttributes]::ReadOnly)) {
        throw (New-Object -TypeName UnauthorizedAccessException -ArgumentList "access to $To is denied")
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

function Get-Sddl {
    [CmdletBinding()]
    param([string] $Path)
    $sddl = Get-Simulation -Area 'sddl' -Name $Path
    if ($null -eq $sddl) { 'O:BAG:SYD:AI(A;OICIID;FA;;;BA)' } else { $sddl }
}

# An access list as .NET and Windows give it back: laws.json says what is known of that.
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
    # Equal entries become one.
    $sorted = @($sorted | Select-Object -Unique)
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

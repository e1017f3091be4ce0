# A container image in containerd's store. `images check` reads the store itself: one row per image with its name,
# digest and whether all of its content is there.
function Get-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $program,
        [Parameter(Mandatory)] [string] $namespace)
    $arguments = @('-n', $namespace, 'images', 'check', "name==$reference")
    $result = Invoke-Program -Program $program -Arguments $arguments
    if ($result.exitCode -ne 0) { throw "$program exited with $($result.exitCode): $($result.output.Trim())" }
    $digest = $reference.Substring($reference.IndexOf('@') + 1)
    foreach ($line in $result.output.Split("`n")) {
        $fields = $line.Trim() -split '\s+'
        if ($fields[0] -cne $reference -or $fields -cnotcontains $digest) { continue }
        if ($fields -ccontains 'complete') { return @{ reference = $reference } }
        return @{ reference = "incomplete: $($line.Trim())" }
    }
    @{ reference = $null }
}

function Set-containerImageResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $reference, [Parameter(Mandatory)] [string] $program,
        [Parameter(Mandatory)] [string] $namespace)
    if ($reference -cnotmatch '@sha256:[0-9a-f]{64}$') { throw "$reference is not pinned by digest" }
    $arguments = @('-n', $namespace, 'images', 'pull', $reference)
    $result = Invoke-Program -Program $program -Arguments $arguments
    if ($result.exitCode -ne 0) { throw "$program exited with $($result.exitCode): $($result.output.Trim())" }
}

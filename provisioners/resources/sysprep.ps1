# The generalised system. Sysprep ends before the state is written, so the state is waited for.
function Get-sysprepResource {
    [CmdletBinding()]
    param()
    @{ imageState = (Get-ImageState) }
}

function Set-sysprepResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $imageState, [Parameter(Mandatory)] [string] $unattend,
        [Parameter(Mandatory)] [string] $finish)
    if ($finish -notin 'quit', 'shutdown') { throw "Sysprep cannot finish with $finish" }
    if (-not (Test-Path -LiteralPath $unattend -PathType Leaf)) { throw "there is no answer file $unattend" }
    try {
        Invoke-Sysprep -Unattend $unattend -Finish $finish
        while ((Get-ImageState) -cne $imageState) {
            $null = Get-TimeLeft -Doing "waiting for $imageState, the state is $(Get-ImageState)"
            Start-Sleep -Seconds 1
        }
    } catch {
        throw "$($_.Exception.Message)`n$(Get-SysprepError)"
    }
}

<#
.SYNOPSIS
Says of a clone of an image whether it would join: before and after what the platform writes on it.

.DESCRIPTION
For a machine that was made from an image and that no cluster needs, elevated, some minutes after its first boot,
when the platform's agents have written. Test-Node.ps1 must find no drift, and Join-Node.ps1 must come as far as
the configuration that it lacks. Then what plans call volatile is written as agents and policies write it, and both
are asked again; last something that is not volatile is changed, which must keep the machine from joining. Exit
codes: 0 everything is as expected, 1 something is not.

.PARAMETER Root
The folder of the payload.

.PARAMETER Platform
Script with the abilities of Windows; another one in a simulation or on Wine.

.EXAMPLE
powershell.exe -NoProfile -ExecutionPolicy Bypass -File real-clone.ps1
#>
[CmdletBinding()]
param([string] $Root = 'C:\imagegen', [string] $Platform = '')
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if (-not $Platform) { $Platform = "$Root\engine\Windows.ps1" }
. "$Root/engine/Tools.ps1"
. $Platform
$script:Failed = 0

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    $word = 'ok'
    if (-not $Holds) { $word = 'FAILED'; $script:Failed++ }
    [Console]::Out.WriteLine("${word}: $Name")
    if (-not $Holds) { [Console]::Out.WriteLine("    $Detail") }
}

# A script of the node: exit code and what it says.
function Invoke-CloneScript {
    param([string] $Name, [hashtable] $Arguments = @{})
    $lines = @(& "$Root\node\$Name.ps1" -Platform $Platform @Arguments *>&1 | ForEach-Object { "$_" })
    @{ code = $LASTEXITCODE; text = $lines -join "`n" }
}

# A configuration that is not there is the first thing that a machine as planned misses.
function Test-Clone {
    param([string] $When, [bool] $Joins)
    $ran = Invoke-CloneScript -Name 'Test-Node'
    $wanted = 8
    if ($Joins) { $wanted = 0 }
    Assert-That -Name "${When}: Test-Node ends with $wanted" -Holds ($ran.code -eq $wanted) -Detail $ran.text
    $none = @{ Configuration = "$env:TEMP\imagegen-none.yaml"; Discovery = "$env:TEMP\imagegen-none.conf" }
    $ran = Invoke-CloneScript -Name 'Join-Node' -Arguments ($none + @{ TimeoutSeconds = 60 })
    $wanted = 8
    if ($Joins) { $wanted = 1 }
    Assert-That -Name "${When}: Join-Node ends with $wanted" -Holds ($ran.code -eq $wanted) -Detail $ran.text
}

$plan = [IO.File]::ReadAllText("$Root\guest-plan.json") | ConvertFrom-Json
$values = @($plan.resources | Where-Object { $_.type -eq 'registryValue' -and
    $_.properties.ensure -eq 'present' } |
        # A plan leaves the scope of a node out.
        Where-Object { -not $_.PSObject.Properties['scope'] -or $_.scope -eq 'node' })
$volatile = @($values | Where-Object { $_.PSObject.Properties['volatile'] -and
    $_.volatile.PSObject.Properties['data'] })
$fixed = @($values | Where-Object { -not $_.PSObject.Properties['volatile'] } | Select-Object -First 1)
Test-Clone -When 'as the platform left it' -Joins $true

foreach ($resource in $volatile + $fixed) {
    $value = $resource.properties
    $id = @{ Key = $value.key; Name = $value.valueName }
    $before = Get-RegistryValue @id
    $other = 'another'
    if ($value.kind -in 'DWord', 'QWord') { $other = 1 - [Math]::Min(1, [long]$value.data) }
    try {
        Set-RegistryValue @id -Kind $value.kind -Data $other
        Test-Clone -When "$($resource.name) is $other" -Joins ($resource -in $volatile)
    } finally {
        if ($null -eq $before) { Remove-RegistryValue @id }
        else { Set-RegistryValue @id -Kind $before.kind -Data $before.data }
    }
}
Assert-That -Name 'something is volatile, and something is not' -Holds ($volatile.Count -and $fixed.Count)
exit [int]($script:Failed -gt 0)

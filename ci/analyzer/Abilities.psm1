# Abilities of Windows, and those that the simulation has in their place.
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"

# The simulation has the abilities that other scripts call, with the same parameters, each in the file of the same
# name; those of Windows are short.
function Compare-Ability {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [object[]] $Windows, [Parameter(Mandatory)] [object[]] $Simulated,
        [string[]] $Called)
    $forms = foreach ($scripts in $Windows, $Simulated) {
        $form = @{}
        foreach ($script in $scripts) {
            foreach ($function in $script.functions |
                Where-Object -FilterScript { $_.Name -notlike '*-Simulation' }) {
                $parameters = @(Get-Declared -Function $function | ForEach-Object -Process { $_.text }) -join ', '
                $form[$function.Name] = "$($script.name.Split('/')[-1]) ($parameters)"
            }
        }
        $form
    }
    foreach ($name in $Called | Sort-Object -Unique) {
        if ($forms[0][$name] -cne $forms[1][$name]) {
            "${name}: ``$($forms[0][$name])`` on Windows, ``$($forms[1][$name])`` simulated"
        }
    }
    foreach ($script in $Windows) {
        foreach ($function in $script.functions) {
            # Header, CmdletBinding, param and closing brace are not counted.
            $lines = $function.Extent.EndLineNumber - $function.Extent.StartLineNumber - 3
            if ($lines -gt 15) {
                New-Finding -Script $script -Node $function -Text "$($function.Name) has $lines lines"
            }
        }
    }
}

Export-ModuleMember -Function 'Compare-Ability'

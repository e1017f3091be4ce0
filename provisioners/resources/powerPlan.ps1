# The active power plan, by its GUID: names are in the language of the system.
function Get-powerPlanResource {
    [CmdletBinding()]
    param()
    @{ plan = (Get-PowerPlan) }
}

function Set-powerPlanResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $plan)
    Set-PowerPlan -Plan $plan
}

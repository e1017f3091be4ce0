# The rules of this folder over all scripts and texts: which rule is for which of them.
[CmdletBinding()]
param([Parameter(Mandatory)] [hashtable] $Tree, [Parameter(Mandatory)] [object[]] $Text)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
Import-Module -Name "$PSScriptRoot/Trees.psm1"
Import-Module -Name "$PSScriptRoot/Traps.psm1"
Import-Module -Name "$PSScriptRoot/Calls.psm1"
Import-Module -Name "$PSScriptRoot/Abilities.psm1"
Import-Module -Name "$PSScriptRoot/Laws.psm1"
Import-Module -Name "$PSScriptRoot/Lines.psm1"

$product = $Tree['provisioners']
$guest = $Tree['tests/guest']
$simulated = @($product | Where-Object -FilterScript { -not $_.isPlatform }) +
    @($guest | Where-Object -FilterScript { -not $_.isSuite -and -not $_.isCase })
$real = @($product) + @($guest | Where-Object -FilterScript { $_.isSuite -or
    $_.name -eq 'tests/guest/script-paths.ps1' })
$all = @($Tree.Values | ForEach-Object -Process { $_ })
$bare = Get-Known

foreach ($script in $all + $Text) { Find-Syntax -Script $script }
foreach ($script in $all) { Find-Layout -Script $script }
foreach ($script in @($all | Where-Object -FilterScript { $_.name -notlike 'tests/*' }) + $Text) {
    Find-AwaitedTime -Script $script
}
foreach ($script in $all | Where-Object -FilterScript { -not $_.isCase }) {
    Find-Drive -Script $script
    Find-Default -Script $script
    Find-Member -Script $script
    Find-Preference -Script $script -Known $bare
    Find-Leak -Script $script -Known $bare
    Find-Collision -Script $script -Loaded @(Get-Loaded -Script $script -All $all)
    if (-not $script.isSimulation) { Find-Unread -Script $script }
}
foreach ($one in $Text) {
    Find-Drive -Script $one
    Find-Member -Script $one
    Find-Preference -Script $one -Known $bare
    if ($one.name -like 'provisioners/steps/*') { Find-QuotedValue -Script $one }
    if ($one.name -like 'provisioners/steps/*.set') { Find-NetworkSession -Script $one }
}

$known = Get-Known -Script $product
foreach ($script in $product) {
    Find-Form -Script $script
    Find-Call -Script $script -Known $known
    Find-Windows -Script $script -Known $known
    Find-Refused -Script $script
    Find-Swallowed -Script $script
}
# What runs on nodes by itself has no engine before it, starts programs, and has the module of the feature
# Containers.
$others = @($Tree['manifests/cluster']) + @($Tree['packer']) + @($Text |
    Where-Object -FilterScript { $_.name -like '*.hcl' })
foreach ($script in $others) {
    $isAgent = $script.name -like 'manifests/*'
    Find-Call -Script $script -Known (Get-Known -Script $script) | Where-Object -FilterScript {
        $_ -match '(no command of 5\.1|no parameter)' -and $_ -notmatch '-Hns' -or
            ($isAgent -and $_ -notmatch '(-Hns|is run directly$)')
    }
}
# A case that calls what nobody defines ends there, and hides those behind it. Cases run in PowerShell 7 on Linux.
$of7 = '(-AsHashtable|-NoEnumerate|-Stable|: (tar|sh|pwsh|Invoke-ScriptAnalyzer) is no command)'
$wrong = '(no command of 5\.1|no parameter|needs -)'
$cases = @($guest | Where-Object -FilterScript { $_.isCase })
foreach ($set in $simulated, $real) {
    $known = Get-Known -Script ($set + $cases)
    foreach ($script in $set | Where-Object -FilterScript { $_.name -like 'tests/*' }) {
        Find-Call -Script $script -Known $known | Where-Object -FilterScript { $_ -match $wrong -and
            $_ -notmatch $of7 }
    }
    Find-Invisible -All $set
}
Find-Invisible -All $product
foreach ($set in $product, (@($guest) + @($product)), $Tree['manifests/cluster'], $Tree['packer']) {
    $given = @{}
    foreach ($script in $set) {
        $outer = @(Get-Assigned -Script $script | Where-Object -FilterScript { -not $_.owner } |
            ForEach-Object -Process { $_.name })
        foreach ($loaded in Get-Loaded -Script $script -All $set | Where-Object -FilterScript { $_ -ne $script }) {
            $given[$loaded.name] = @($given[$loaded.name]) + $outer
        }
    }
    $first = $set[0].name.Split('/')[0]
    foreach ($script in $set | Where-Object -FilterScript { $_.name.StartsWith($first) -and
        -not $_.isCase }) {
        Find-Unset -Script $script -Given @($given[$script.name] | Where-Object -FilterScript { $_ })
    }
}

$template = [IO.File]::ReadAllText("$PSScriptRoot/../../provisioners/templates/node.conf")
foreach ($script in $product | Where-Object -FilterScript { $_.name -like 'provisioners/node/*' }) {
    Find-Fact -Script $script -Template $template
}
$windows = @($product | Where-Object -FilterScript { $_.isPlatform })
$called = @($product | Where-Object -FilterScript { -not $_.isPlatform } |
        ForEach-Object -Process { Select-Node -Script $_ -Type 'CommandAst' } |
        ForEach-Object -Process { $_.GetCommandName() } | Where-Object -FilterScript { $_ })
Compare-Ability -Windows $windows -Simulated @($guest |
    Where-Object -FilterScript { $_.isSimulation }) -Called $called

$read = { [IO.File]::ReadAllText("$PSScriptRoot/$($args[0]).json") | ConvertFrom-Json }
$grammar = & $read 'programs'
$holders = $windows + @($Text | Where-Object -FilterScript { $_.name -like 'provisioners/steps/*' })
foreach ($script in $holders) { Find-Line -Script $script -Grammar $grammar }
$ran = @($holders | ForEach-Object -Process { Get-ProgramLine -Tree $_.tree } |
    ForEach-Object -Process { $_.program })
foreach ($program in $grammar.PSObject.Properties.Name | Where-Object -FilterScript { $_ -notin $ran }) {
    "programs.json: no script runs $program"
}
Find-Lost -Folder "$PSScriptRoot/../../provisioners" -Kept (& $read 'kept')

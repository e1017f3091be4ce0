# Applies a guest plan: for every resource, Get its actual state, compare that with the desired one, Set it where
# they differ, Get again. Facts are in the plan, abilities in the platform, types in ../resources.
param(
    [Parameter(Mandatory)] [string] $Platform,
    [Parameter(Mandatory)] [string] $Root,
    [Parameter(Mandatory)] [string] $Journal
)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$script:Root = $Root
# A module does not see what its caller has dot-sourced, so it loads everything itself.
. "$PSScriptRoot/Tools.ps1"
. $Platform
foreach ($file in Get-ChildItem -Path "$PSScriptRoot/../resources/*.ps1") { . $file.FullName }
$script:Journal = Resolve-NativePath -Path $Journal
# The one text of a type that arguments out of a file may complete.
$script:Completed = @{ service = 'commandLine'; registryValue = 'data' }

# One level of an object as the hashtable that splatting needs.
function ConvertTo-Splat {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $InputObject)
    $table = @{}
    foreach ($property in $InputObject.PSObject.Properties) { $table[$property.Name] = $property.Value }
    $table
}

# The properties of a resource as they are to be now: what others wrote into a file since stands behind the plan's
# text. So an image, a node that joined and one that was reset are each as planned.
function Get-Desired {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    $properties = ConvertTo-Splat -InputObject $Resource.properties
    if ($properties.ContainsKey('argumentsFile')) {
        $file = $properties.argumentsFile
        $more = Read-Argument -Path $file.path -Variable $file.variable
        $drop = $file.PSObject.Properties['drop']
        if ($null -ne $drop) {
            foreach ($flag in @($drop.Value)) { $more = $more -replace "(^|\s)$([regex]::Escape($flag))=\S*" }
            $more = $more.Trim()
        }
        if ($more) { $properties[$script:Completed[$Resource.type]] += " $more" }
        $properties.Remove('argumentsFile')
    }
    $properties
}

# One text per value, so that 1 and "1" are equal, and "a,b" and ["a", "b"] are not.
function ConvertTo-Canonical {
    [CmdletBinding()]
    param($Value, [switch] $Nested)
    if ($null -eq $Value) { return 'null' }
    if ($Value -is [bool]) { return $Value.ToString().ToLowerInvariant() }
    if ($Value -is [string] -or $Value -is [ValueType]) {
        $text = [string]::Format([cultureinfo]::InvariantCulture, '{0}', $Value)
        if ($Nested) { return "'" + $text.Replace("'", "''") + "'" }
        return $text
    }
    if ($Value -is [Collections.IDictionary]) {
        $pairs = foreach ($key in @($Value.Keys | Sort-Object)) {
            '{0}={1}' -f $key, (ConvertTo-Canonical -Value $Value[$key] -Nested)
        }
        return '{' + (@($pairs) -join '; ') + '}'
    }
    if ($Value -is [Collections.IEnumerable]) {
        $items = foreach ($item in $Value) { ConvertTo-Canonical -Value $item -Nested }
        return '[' + (@($items) -join ', ') + ']'
    }
    ConvertTo-Canonical -Value (ConvertTo-Splat -InputObject $Value)
}

# The differences between desired and actual. What Get does not report (an URL) is not compared.
function Compare-State {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Desired, [Parameter(Mandatory)] [hashtable] $Actual)
    foreach ($name in @($Desired.Keys | Sort-Object)) {
        if (-not $Actual.ContainsKey($name)) { continue }
        $expected = ConvertTo-Canonical -Value $Desired[$name]
        $found = ConvertTo-Canonical -Value $Actual[$name]
        if ($expected -cne $found) { [ordered]@{ property = $name; expected = $expected; actual = $found } }
    }
}

# The parameters that a resource function declares: name to whether it is mandatory; $null without the function.
function Get-Declaration {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Verb, [Parameter(Mandatory)] [string] $Type)
    if ($Type -cnotmatch '^[a-zA-Z]+$') { return $null } # Get-Command takes wildcards
    $name = "$Verb-${Type}Resource"
    $command = Get-Command -Name $name -CommandType Function -ErrorAction SilentlyContinue
    if ($null -eq $command) { return $null }
    $declared = @{}
    foreach ($parameter in $command.ScriptBlock.Ast.Body.ParamBlock.Parameters) {
        $own = $parameter.Name.VariablePath.UserPath
        $rules = $command.Parameters[$own].Attributes
        $declared[$own] = @($rules | Where-Object { $_ -is [Parameter] -and $_.Mandatory }).Count -gt 0
    }
    $declared
}

function Get-ResourceDifference {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Type, [Parameter(Mandatory)] [hashtable] $Properties)
    $declared = Get-Declaration -Verb 'Get' -Type $Type
    $inputs = @{}
    foreach ($name in $Properties.Keys) {
        if ($declared.ContainsKey($name)) { $inputs[$name] = $Properties[$name] }
    }
    Compare-State -Desired $Properties -Actual (& "Get-${Type}Resource" @inputs)
}

# Refuses what this engine cannot apply whole.
function Assert-Plan {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan)
    if ($Plan.schema -cne 'imagegen.dev/guest-plan/v1') { throw "plan schema '$($Plan.schema)' is unknown" }
    foreach ($resource in $Plan.resources) {
        $known = @{}
        foreach ($verb in 'Get', 'Set') {
            $declared = Get-Declaration -Verb $verb -Type $resource.type
            if ($null -eq $declared) { throw "$($resource.name): no resource type '$($resource.type)'" }
            foreach ($name in $declared.Keys) { $known[$name] = $known[$name] -or $declared[$name] }
        }
        if ($script:Completed.ContainsKey($resource.type)) { $known.argumentsFile = $false }
        $properties = ConvertTo-Splat -InputObject $resource.properties
        foreach ($name in $properties.Keys) {
            if (-not $known.ContainsKey($name)) {
                throw "$($resource.name): $($resource.type) has no property '$name'"
            }
        }
        foreach ($name in $known.Keys) {
            if ($known[$name] -and -not $properties.ContainsKey($name)) {
                throw "$($resource.name): $($resource.type) needs property '$name'"
            }
        }
        # A preview says `unpinned` where nobody knows a digest.
        if ($properties.ContainsKey('digest') -and $properties.digest -cnotmatch '^([0-9a-f]{64}){1,2}$') {
            throw "$($resource.name): '$($properties.digest)' pins nothing"
        }
        if ([int]$resource.timeoutSeconds -le 0) { throw "$($resource.name): timeoutSeconds is not positive" }
    }
}

# The download that a resource will need, $null when it needs none.
function Get-Download {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    if ($Resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { return $null }
    Start-Deadline -Name $Resource.name -Seconds $Resource.timeoutSeconds
    $item = ConvertTo-Splat -InputObject $Resource.properties
    if (@(Get-ResourceDifference -Type $Resource.type -Properties $item).Count -eq 0) { return $null }
    $path = Get-CachePath -Digest $item.digest
    if ($Resource.type -ne 'artifact') { $path = $item.cache }
    if ((Get-Digest -Path $path -Algorithm $item.algorithm) -ceq $item.digest) { return $null }
    @{
        name = $Resource.name
        url = (Select-Source -Url $item.url -Digest $item.digest)
        path = $path
        algorithm = $item.algorithm
        digest = $item.digest
        seconds = $Resource.timeoutSeconds
    }
}

# Downloads what the phase will need, several files at a time; the resources find it in the cache.
function Save-Ahead {
    [CmdletBinding()]
    param([object[]] $Resources = @())
    $items = @{}
    foreach ($resource in $Resources) {
        $item = Get-Download -Resource $resource
        if ($null -ne $item) { $items[$item.path] = $item }
    }
    if ($items.Count -gt 0) {
        Write-Line -Text "downloading $($items.Count) files"
        Save-PinnedFile -Items @($items.Values)
    }
}

# Text to whoever watches; the outcome goes to the output, these lines must not.
function Write-Line {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Text)
    Write-Information -MessageData "imagegen: $Text" -InformationAction Continue
}

# One JSON line in the journal, closed at once: what follows may cut the machine off.
function Add-JournalLine {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry)
    [IO.File]::AppendAllText($script:Journal, (ConvertTo-Json -InputObject $Entry -Depth 6 -Compress) + "`n")
}

function New-Entry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [string] $Type, [string] $Step, [string] $Phase)
    [ordered]@{
        name = $Name
        type = $Type
        step = $Step
        phase = $Phase
        result = 'unchanged'
        differences = @()
        restart = $false
        error = $null
        ms = 0
    }
}

# Brings one resource into its desired state, or only looks at it.
function Invoke-Resource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource, [Parameter(Mandatory)] [string] $Mode)
    $type = $Resource.type
    $entry = New-Entry -Name $Resource.name -Type $type -Step $Resource.step -Phase $Resource.phase
    Start-Deadline -Name $Resource.name -Seconds $Resource.timeoutSeconds
    try {
        $properties = Get-Desired -Resource $Resource
        $entry.differences = @(Get-ResourceDifference -Type $type -Properties $properties)
        if ($entry.differences.Count -gt 0) {
            $entry.result = 'drifted'
            if ($Mode -eq 'apply') {
                $entry.restart = 'restart' -in @(& "Set-${type}Resource" @properties)
                $left = @(Get-ResourceDifference -Type $type -Properties $properties)
                $entry.result = 'changed'
                # What waits for a restart cannot be seen yet; the phase test looks again.
                if ($left.Count -gt 0 -and -not $entry.restart) {
                    $entry.differences = $left
                    throw 'still differs after it was set'
                }
            }
        }
    } catch {
        $entry.result = 'failed'
        $entry.error = $_.Exception.Message
    }
    $entry.ms = [int]$script:Current.clock.ElapsedMilliseconds
    $entry
}

# The progress line of a resource, with what differs where that is the news.
function Write-Entry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry, [Parameter(Mandatory)] [string] $Place)
    Write-Line -Text "[$Place] $($Entry.result) $($Entry.name) ($($Entry.ms) ms)"
    if ($Entry.result -notin 'drifted', 'failed') { return }
    foreach ($item in $Entry.differences) {
        Write-Line -Text "  $($item.property): expected $($item.expected), found $($item.actual)"
    }
    if ($null -ne $Entry.error) { Write-Line -Text "  $($Entry.error)" }
}

function New-Result {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Phase, [Parameter(Mandatory)] [string] $Mode)
    [ordered]@{
        schema = 'imagegen.dev/phase-result/v1'
        phase = $Phase
        mode = $Mode
        unchanged = 0
        changed = 0
        failed = 0
        restart = $false
        error = $null
    }
}

# Others change the plan's volatile properties on a node: they are neither compared nor set there.
function Clear-Volatile {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    $names = $Resource.PSObject.Properties['volatile']
    if ($null -eq $names) { return }
    $properties = $Resource.properties.PSObject.Properties
    foreach ($name in @($names.Value)) {
        if ($null -ne $properties[$name]) { $properties.Remove($name) }
    }
}

# Whether a resource holds for the node's life; that is what a plan says by leaving the scope out.
function Test-NodeScope {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    $scope = $Resource.PSObject.Properties['scope']
    $null -eq $scope -or $scope.Value -eq 'node'
}

# What a phase applies. Two are no part of a build: `join` is what kubeadm's files complete on a node, `node` is
# everything that holds for its life.
function Select-Resource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase)
    foreach ($resource in $Plan.resources) {
        if ($Phase -eq 'join') {
            if ($null -eq $resource.properties.PSObject.Properties['argumentsFile']) { continue }
            Clear-Volatile -Resource $resource
            $resource
        } elseif ($Phase -eq 'node') {
            if (Test-NodeScope -Resource $resource) { $resource }
        } elseif ($resource.phase -eq $Phase) {
            $resource
        }
    }
}

# Applies one phase, up to the first failure. Done work is found done, so it can be run again at any time.
# At the first start of a clone one failure must not keep other ways in open, so all of firstboot is applied.
function Invoke-Phase {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase,
        [Parameter(Mandatory)] [string] $Report)
    $result = New-Result -Phase $Phase -Mode 'apply'
    $resources = @(Select-Resource -Plan $Plan -Phase $Phase)
    # A report speaks of the machine as it was then. Sealing needs it and takes nothing but the build's own away.
    if ($Phase -ne 'seal' -and [IO.File]::Exists($Report)) { [IO.File]::Delete($Report) }
    try {
        Save-Ahead -Resources $resources
    } catch {
        $entry = New-Entry -Name 'downloads' -Phase $Phase
        $entry.result = 'failed'
        $entry.error = $_.Exception.Message
        Add-JournalLine -Entry $entry
        Write-Line -Text "failed $($entry.error)"
        $result.failed = 1
        $result.error = $entry.error
        return $result
    }
    $place = 0
    foreach ($resource in $resources) {
        $place++
        $entry = Invoke-Resource -Resource $resource -Mode 'apply'
        Add-JournalLine -Entry $entry
        Write-Entry -Entry $entry -Place "$place/$($resources.Count)"
        # Features and updates refuse to go on while Windows waits for a restart: the phase is run again after it.
        if ($Phase -in 'prepare', 'node' -and $entry.result -eq 'failed' -and (Test-PendingRestart)) {
            Write-Line -Text "$($entry.name) waits for a restart of Windows that is due"
            $result.restart = $true
            break
        }
        $result[$entry.result]++
        if ($entry.restart) { $result.restart = $true }
        if ($entry.result -eq 'failed') {
            if (-not $result.error) { $result.error = "$($entry.name): $($entry.error)" }
            if ($Phase -ne 'firstboot') { break }
        }
    }
    $result
}

# What the test of a phase compares. The phase test stands for the whole machine before sealing.
function Select-TestResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase)
    if ($Phase -eq 'test') {
        return @($Plan.resources | Where-Object { $_.phase -in 'bootstrap', 'prepare', 'install', 'test' })
    }
    foreach ($resource in @(Select-Resource -Plan $Plan -Phase $Phase)) {
        if ($Phase -eq 'node') { Clear-Volatile -Resource $resource }
        $resource
    }
}

# Compares resources and sets none.
function Test-Phase {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase,
        [string[]] $Report = @())
    $result = New-Result -Phase $Phase -Mode 'test'
    $resources = @(Select-TestResource -Plan $Plan -Phase $Phase)
    $entries = New-Object -TypeName Collections.ArrayList
    foreach ($resource in $resources) {
        $entry = Invoke-Resource -Resource $resource -Mode 'test'
        $null = $entries.Add((Select-ReportEntry -Entry $entry))
        if ($entry.result -eq 'unchanged') {
            $result.unchanged++
            continue
        }
        $result.failed++
        Add-JournalLine -Entry $entry
        Write-Entry -Entry $entry -Place "$($entries.Count)/$($resources.Count)"
    }
    Write-Line -Text "$($entries.Count) checked, $($result.failed) not as planned"
    if ($Report.Count -gt 0) {
        $content = New-Report -Plan $Plan -Entries ($entries.ToArray()) -Failed $result.failed
        foreach ($path in $Report) {
            Write-TextFile -Path $path -Content (ConvertTo-Json -InputObject $content -Depth 6)
        }
    }
    $result
}

function Select-ReportEntry {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Entry)
    [ordered]@{
        name = $Entry.name
        type = $Entry.type
        step = $Entry.step
        result = $Entry.result
        differences = $Entry.differences
        error = $Entry.error
        ms = $Entry.ms
    }
}

function New-Report {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [object[]] $Entries = @(), [int] $Failed)
    [ordered]@{
        schema = 'imagegen.dev/check-report/v1'
        target = $Plan.target
        windows = $Plan.windows
        kubernetes = $Plan.kubernetes
        passed = ($Failed -eq 0)
        checked = $Entries.Count
        failed = $Failed
        resources = $Entries
    }
}

# A machine that did not pass its checks is not sealed.
function Assert-Report {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Report)
    if (-not [IO.File]::Exists($Report)) { throw "no check report at ${Report}: run phase test before sealing" }
    $content = [IO.File]::ReadAllText($Report) | ConvertFrom-Json
    foreach ($name in 'target', 'windows', 'kubernetes') {
        if ($content.$name -cne $Plan.$name) { throw "the check report at $Report is of another plan ($name)" }
    }
    if ($content.passed -isnot [bool] -or -not $content.passed) {
        throw "$($content.failed) of $($content.checked) checks failed: this machine is not sealed"
    }
}

Export-ModuleMember -Function @('Assert-Plan', 'Assert-Report', 'Invoke-Phase', 'Test-Phase')

# Which plans are taken, and which of their resources a phase is about. Loaded by Engine.psm1.

# Refuses a list of hosts that this engine would read in another way than the program that wrote it.
function Assert-HostList {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [AllowNull()] [AllowEmptyCollection()] $Hosts)
    if ($Hosts -isnot [array]) { throw 'allowedHosts of the plan is no list' }
    $form = '\A(?:(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9a-f:.]+\])\z'
    foreach ($text in $Hosts) {
        $isHost = $text -is [string] -and $text -cmatch $form
        if (-not $isHost) { throw "allowedHosts of the plan: '$text' is no host" }
    }
}

# The properties of a resource type: name to whether it is mandatory; $null where there is no such type.
function Get-TypeProperty {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Type)
    $known = @{}
    foreach ($verb in 'Get', 'Set') {
        $declared = Get-Declaration -Verb $verb -Type $Type
        if ($null -eq $declared) { return $null }
        foreach ($name in $declared.Keys) { $known[$name] = $known[$name] -or $declared[$name] }
    }
    $known
}

# Refuses what this engine cannot apply whole.
function Assert-Plan {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan)
    if ($Plan.schema -cne 'imagegen.dev/guest-plan/v1') { throw "plan schema '$($Plan.schema)' is unknown" }
    $allowed = $Plan.PSObject.Properties['allowedHosts']
    if ($null -ne $allowed) { Assert-HostList -Hosts $allowed.Value }
    $types = @{}
    foreach ($resource in $Plan.resources) {
        $type = $resource.type
        if (-not $types.ContainsKey($type)) { $types[$type] = Get-TypeProperty -Type $type }
        $known = $types[$type]
        if ($null -eq $known) { throw "$($resource.name): no resource type '$type'" }
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
        if ($type -eq 'archive') { Assert-Member -Plan $Plan -Resource $resource }
        if ([int]$resource.timeoutSeconds -le 0) { throw "$($resource.name): timeoutSeconds is not positive" }
    }
}

# What was verified is what is unpacked, so each member has its digest. A preview was made without the archives.
function Assert-Member {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] $Resource)
    if ($null -ne $Plan.PSObject.Properties['preview']) { return }
    foreach ($item in $Resource.properties.members) {
        if ($null -eq (Get-MemberDigest -Item $item)) {
            throw "$($Resource.name): the plan has no digest of $($item.member)"
        }
    }
}

# Whether a resource holds for the node's life; that is what a plan says by leaving the scope out.
function Test-NodeScope {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Resource)
    $scope = $Resource.PSObject.Properties['scope']
    $null -eq $scope -or $scope.Value -eq 'node'
}

# What a phase applies. The phase `node` is no part of a build: it is everything that holds for a node's life.
function Select-Resource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase)
    foreach ($resource in $Plan.resources) {
        if ($Phase -eq 'node') {
            if (Test-NodeScope -Resource $resource) { $resource }
        } elseif ($resource.phase -eq $Phase) {
            $resource
        }
    }
}

# What the test of a phase compares. The phase test stands for the whole machine before sealing.
function Select-TestResource {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Plan, [Parameter(Mandatory)] [string] $Phase)
    if ($Phase -eq 'test') {
        return @($Plan.resources | Where-Object { $_.phase -in 'bootstrap', 'prepare', 'install', 'test' })
    }
    Select-Resource -Plan $Plan -Phase $Phase
}

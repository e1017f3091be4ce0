<#
.SYNOPSIS
Applies guest plans with the real engine on a simulated Windows, then breaks things.

.DESCRIPTION
Needs PowerShell 7 with curl and tar on a system without a drive C:; elsewhere it says so and does nothing. Every
world begins empty. Its mirror holds made-up bytes for every URL of the plan, and the digests of the plan, those of
members of archives among them, are replaced by theirs.
Each check is a line, `ok: NAME` or `FAILED: NAME`. A case that throws is a failure, and the next one begins.
Exit codes: 0 every check passed, 1 one failed or there was none.

.PARAMETER Plan
A rendered guest-plan.json, its workspace, or a folder of plans: their lives are played, and nothing else. Without
it, plan.json beside this script, which has every type, and all cases.

.PARAMETER Provisioners
The folder with engine and resources.

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1 -Plan workspace/guest-plan.json
#>
[CmdletBinding()]
param([string] $Plan, [string] $Provisioners)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ($PSVersionTable.PSVersion.Major -lt 7 -or [IO.Directory]::Exists('C:\')) {
    Write-Output -InputObject 'skipped: the simulation needs PowerShell 7 on a system without a drive C:'
    exit 0
}
# Whole paths, because the current folder changes.
$given = $ExecutionContext.SessionState.Path
if (-not $Provisioners) { $Provisioners = "$PSScriptRoot/../../provisioners" }
$Provisioners = [IO.Path]::GetFullPath($given.GetUnresolvedProviderPathFromPSPath($Provisioners))
$plans = @()
if ($Plan) {
    $Plan = $given.GetUnresolvedProviderPathFromPSPath($Plan)
    $plans = @($Plan)
    if ([IO.File]::Exists("$Plan/guest-plan.json")) {
        $plans = @("$Plan/guest-plan.json")
    } elseif ([IO.Directory]::Exists($Plan)) {
        $plans = @([IO.Directory]::GetFiles($Plan, '*.json') | Sort-Object)
    }
}
$script:Passed = 0
$script:Failed = 0
$script:World = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-$([guid]::NewGuid().ToString('N'))"

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    # Not through the output: the functions that check also return things.
    if ($Holds) {
        $script:Passed++
        [Console]::Out.WriteLine("ok: $Name")
    } else {
        $script:Failed++
        [Console]::Out.WriteLine("FAILED: $Name")
        [Console]::Out.WriteLine("    $Detail")
    }
}

# Checks that stand by themselves: what one of them throws is its own failure.
function Invoke-Case {
    param([string] $Name, [scriptblock] $Block)
    [Console]::Out.WriteLine("case: $Name")
    try {
        $null = & $Block
    } catch {
        Assert-That -Name "$Name comes to its end" -Holds $false -Detail "$_`n$($_.ScriptStackTrace)"
    }
}

. "$Provisioners/engine/Tools.ps1"
. "$PSScriptRoot/Simulated.ps1"
. "$PSScriptRoot/install.ps1"
. "$PSScriptRoot/laws.ps1"
. "$PSScriptRoot/matrix.ps1"
. "$PSScriptRoot/node.ps1"
. "$PSScriptRoot/laws/service-laws.ps1"
. "$PSScriptRoot/laws/file-laws.ps1"
. "$PSScriptRoot/laws/handle-laws.ps1"
. "$PSScriptRoot/laws/system-laws.ps1"
. "$PSScriptRoot/laws/image-laws.ps1"
. "$PSScriptRoot/laws/step-laws.ps1"
. "$PSScriptRoot/laws/agent-laws.ps1"
. "$PSScriptRoot/laws/update-laws.ps1"

# The comma keeps the bytes one object.
function Get-TextByte {
    param([string] $Text)
    , [Text.Encoding]::UTF8.GetBytes($Text)
}

# The bytes of an archive's member.
function Get-MemberByte {
    param($Resource, [string] $Name)
    , (Get-TextByte -Text "$Name of $($Resource.properties.url)")
}

function Get-ByteHash {
    param([byte[]] $Bytes)
    [Convert]::ToHexString([Security.Cryptography.SHA256]::HashData($Bytes)).ToLowerInvariant()
}

# The digests of an archive's members. A plan has them where the archive was read before: $All adds them to others.
function Set-MemberDigest {
    param($Resource, [switch] $All)
    if ($Resource.type -ne 'archive') { return }
    foreach ($item in $Resource.properties.members) {
        if (-not $All -and $null -eq $item.PSObject.Properties['sha256']) { continue }
        $digest = Get-ByteHash -Bytes (Get-MemberByte -Resource $Resource -Name $item.member)
        $item | Add-Member -NotePropertyName 'sha256' -NotePropertyValue $digest -Force
    }
}

# The bytes that a URL gives, as a file of the mirror. Archives hold what any resource wants of them.
function New-MirrorFile {
    param([string] $Path, $Resource, [object[]] $All)
    $url = $Resource.properties.url
    if ($Resource.type -ne 'archive') {
        [IO.File]::WriteAllBytes($Path, (Get-TextByte -Text "bytes of $url"))
        return
    }
    $folder = "$Path.d"
    $same = $All | Where-Object { $_.type -eq 'archive' -and $_.properties.url -eq $url }
    $members = @($same | ForEach-Object { $_.properties.members })
    $names = @($members | ForEach-Object { $_.member } | Sort-Object -Unique)
    foreach ($name in $names) {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$folder/$name"))
        [IO.File]::WriteAllBytes("$folder/$name", (Get-MemberByte -Resource $Resource -Name $name))
    }
    if ($Resource.properties.format -eq 'zip') {
        [IO.Compression.ZipFile]::CreateFromDirectory($folder, $Path)
    } else {
        & tar -czf $Path -C $folder @names
    }
}

# An optional property, nothing when the plan leaves it out.
function Get-Given {
    param($Of, [string] $Name)
    $property = $Of.properties.PSObject.Properties[$Name]
    if ($null -ne $property) { $property.Value }
}

# A text that the pattern of an assertion matches, $null where leaving out what repeats or chooses gives none.
function Get-MadeText {
    param($Of)
    $pattern = "$(Get-Given -Of $Of -Name 'pattern')"
    $plain = $pattern -replace '\[\.\]', '.' -replace '\([^)]*\)|\\s[*+]?|\?', ''
    try {
        $text = [regex]::Unescape($plain.Trim('^', '$'))
    } catch [ArgumentException] {
        return $null
    }
    if ($text -cmatch $pattern) { $text }
}

# The file that sealing needs: an answer file, or the platform's own agent, whose last command generalises.
function Initialize-Sysprep {
    param($Resource)
    $agents = @(Get-Given -Of $Resource -Name 'agents')
    if ($agents.Count -eq 0) { return $Resource.properties.unattend }
    foreach ($command in $agents[0].commands) {
        $line = @($command.program) + @($command.arguments) -join ' '
        Set-Simulation -Area 'programs' -Name $line -Value @{ exitCode = 0; output = '' }
    }
    $played = @{ exitCode = 0; output = ''; imageState = $Resource.properties.imageState }
    Set-Simulation -Area 'programs' -Name $line -Value $played
    $agents[0].file
}

# What must be on the machine before a plan can be applied, and what its programs print.
function Initialize-Machine {
    param([string] $World, [object[]] $Resources)
    Set-Simulation -Area 'listeners' -Name 'HTTPS' -Value 'C3D4'
    Set-Simulation -Area 'machineCertificates' -Name 'C3D4' -Value 'self-signed'
    Set-Simulation -Area 'keys' -Name 'C3D4' -Value 'private'
    New-ServiceEntry -Name 'WinRM' -CommandLine 'C:\Windows\System32\svchost.exe -k NetworkService'
    Set-ServiceConfig -Name 'WinRM' -Change @{ startType = 'auto'; state = 'running' }
    Set-Simulation -Area 'os' -Name 'build' -Value @{ build = 17763; revision = 9999 }
    $made = @($Resources | Where-Object { $_.type -eq 'service' -and (Get-Given -Of $_ -Name 'commandLine') })
    $made = @($made | ForEach-Object { $_.properties.serviceName })
    foreach ($resource in $Resources) {
        $wanted = $resource.properties
        if ($resource.type -eq 'localUser') {
            Set-Simulation -Area 'users' -Name $wanted.userName -Value 'present'
        }
        if ($resource.type -eq 'script' -and -not $wanted.set.StartsWith('remember ')) {
            $played = @{ test = $wanted.test; expected = $wanted.expected }
            Set-Simulation -Area 'scripts' -Name $wanted.set -Value $played
        }
        $name = ''
        if ($resource.type -eq 'service') { $name = $wanted.serviceName }
        if ($resource.type -eq 'assertion' -and $wanted.check -eq 'service') { $name = $wanted.serviceName }
        if ($name -and $name -notin $made -and $null -eq (Get-ServiceConfig -Name $name)) {
            New-ServiceEntry -Name $name -CommandLine "C:\Windows\$name.exe"
            Set-ServiceConfig -Name $name -Change @{ startType = 'auto'; state = 'running' }
        }
        $file = ''
        if ($resource.type -eq 'sysprep') { $file = Initialize-Sysprep -Resource $resource }
        if ($resource.type -eq 'file' -and $wanted.ensure -eq 'present') { $file = $wanted.path }
        if ($file) {
            $file = "$World/C/" + $file.Substring(3).Replace('\', '/')
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($file))
            [IO.File]::WriteAllText($file, 'there before')
        }
        if ($resource.type -ne 'assertion') { continue }
        if ($wanted.check -eq 'osBuild' -and $wanted.holds) {
            Set-Simulation -Area 'os' -Name 'build' -Value @{ build = $wanted.build; revision = 9999 }
        } elseif ($wanted.check -eq 'command') {
            $line = @($wanted.program) + @(Get-Given -Of $resource -Name 'arguments') -join ' '
            $played = @{ exitCode = [int](-not $wanted.holds); output = "$(Get-MadeText -Of $resource)" }
            Set-Simulation -Area 'programs' -Name $line -Value $played
        }
    }
}

# A file of the mirror for each URL; the plan gets the digests of those bytes.
function Initialize-Mirror {
    param([string] $World, [object[]] $Resources)
    $number = 0
    foreach ($resource in $Resources) {
        if ($resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { continue }
        $url = $resource.properties.url
        $file = Get-Simulation -Area 'urls' -Name $url
        if ($null -eq $file) {
            $number++
            $file = "file-$number"
            New-MirrorFile -Path "$World/mirror/$file" -Resource $resource -All $Resources
            Set-Simulation -Area 'urls' -Name $url -Value $file
        }
        $hash = Get-Digest -Path "$World/mirror/$file" -Algorithm $resource.properties.algorithm
        $resource.properties.digest = $hash
        Set-MemberDigest -Resource $resource
        if ($resource.type -eq 'msi') {
            $package = $resource.properties.cache.Split('\')[-1]
            Set-Simulation -Area 'packages' -Name $package -Value $resource.properties.creates
        }
    }
}

# The plan with the digests of the scripts that are there. Assertions that no made-up text can meet are left out.
function Write-WorldPlan {
    param([string] $World, $Content)
    $Content.resources = @(foreach ($resource in $Content.resources) {
        $command = $resource.type -eq 'assertion' -and $resource.properties.check -eq 'command'
        if ($command -and $null -eq (Get-MadeText -Of $resource)) {
            [Console]::Out.WriteLine("left out: $($resource.name), whose pattern no made-up text meets")
        } else {
            $resource
        }
    })
    if (@($Content.scripts.PSObject.Properties).Count -eq 0) {
        $scripts = [ordered]@{}
        foreach ($folder in 'engine', 'node', 'resources') {
            foreach ($name in Get-ScriptPath -Root "$World/C/imagegen" -Folder $folder) {
                $scripts[$name] = Get-Digest -Path "$World/C/imagegen/$name"
            }
        }
        $Content.scripts = [pscustomobject]$scripts
    }
    $text = ConvertTo-Json -InputObject $Content -Depth 10
    [IO.File]::WriteAllText("$World/C/imagegen/guest-plan.json", $text)
}

# Scripts below a folder of provisioners or of a payload, as a plan names them.
function Get-ScriptPath {
    param([string] $Root, [string] $Folder)
    foreach ($item in Get-ChildItem -LiteralPath "$Root/$Folder") {
        $name = "$Folder/$($item.Name)"
        if ($item.PSIsContainer) {
            Get-ScriptPath -Root $Root -Folder $name
        } elseif ($item.Extension -in '.ps1', '.psm1') {
            $name
        }
    }
}

# What a payload holds of provisioners: scripts, and no other file.
function Copy-Script {
    param([string] $Destination)
    foreach ($folder in 'engine', 'resources', 'node') {
        foreach ($name in Get-ScriptPath -Root $Provisioners -Folder $folder) {
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$Destination/$name"))
            Copy-Item -LiteralPath "$Provisioners/$name" -Destination "$Destination/$name"
        }
    }
}

# The resource of a plan by its name; a name that is not there is a mistake of the test.
function Select-Named {
    param($Content, [string] $Name)
    $found = @($Content.resources | Where-Object { $_.name -eq $Name })
    if ($found.Count -ne 1) { throw "the plan has $($found.Count) resources named $Name" }
    $found[0]
}

# The machine made new, with the payload on it. $Edit changes the plan before it is written.
function New-World {
    param([string] $Source, [scriptblock] $Edit)
    $world = $script:World
    # A process in a folder that is gone can start no program.
    [IO.Directory]::SetCurrentDirectory($world)
    Get-ChildItem -LiteralPath $world -File | Remove-Item -Force
    foreach ($folder in 'mirror', 'C') {
        Get-ChildItem -LiteralPath "$world/$folder" -Force | Remove-Item -Recurse -Force
    }
    Copy-Script -Destination "$world/C/imagegen"
    $content = [IO.File]::ReadAllText($Source) | ConvertFrom-Json
    Initialize-Machine -World $world -Resources $content.resources
    Initialize-Mirror -World $world -Resources $content.resources
    if ($null -ne $Edit) { $null = & $Edit $content }
    Write-WorldPlan -World $world -Content $content
    $world
}

# One run of the entry point: its exit code, its last line as an object, all of its text.
function Invoke-Engine {
    param([string] $World, [string] $Phase, [string] $Mode = 'apply', [switch] $ReportOnly)
    $arguments = @{ Phase = $Phase; Mode = $Mode; ReportOnly = $ReportOnly }
    $arguments.Platform = "$PSScriptRoot/Simulated.ps1"
    $lines = @(& "$World/C/imagegen/engine/Invoke-Plan.ps1" @arguments 6>&1)
    $code = $LASTEXITCODE
    $result = $null
    if ($lines.Count -gt 0 -and "$($lines[-1])".StartsWith('{')) { $result = "$($lines[-1])" | ConvertFrom-Json }
    @{ code = $code; result = $result; text = ($lines -join "`n") }
}

function Assert-Run {
    param([string] $Name, $Run, [int] $Code, [string] $Text = '')
    $holds = $Run.code -eq $Code -and ($Text -eq '' -or $Run.text.Contains($Text))
    Assert-That -Name $Name -Holds $holds -Detail "exit $($Run.code), wanted $Code and '$Text': $($Run.text)"
}

# Features come and go, services start or not.
function Restart-World {
    param([string] $World)
    $state = [IO.File]::ReadAllText("$World/state.json") | ConvertFrom-Json -AsHashtable
    if ($state.ContainsKey('features')) {
        foreach ($name in @($state.features.Keys)) {
            if ($state.features[$name] -eq 'pending') { $state.features[$name] = 'installed' }
            if ($state.features[$name] -eq 'removing') { $null = $state.features.Remove($name) }
        }
    }
    if ($state.ContainsKey('os')) { $null = $state.os.Remove('pendingrestart') }
    $services = @{}
    if ($state.ContainsKey('services')) { $services = $state.services }
    foreach ($service in $services.Values) {
        $service.state = 'stopped'
        $service.exitCode = 1077
        if ($service.startType -in 'auto', 'delayed') { $service.state, $service.exitCode = 'running', 0 }
    }
    # What Windows itself does not keep.
    foreach ($area in 'running', 'recoveries', 'restartMarks') { $state.Remove($area) }
    [IO.File]::WriteAllText("$World/state.json", (ConvertTo-Json -InputObject $state -Depth 8))
    Step-Simulation -Moment 'startup'
}

function Read-Report {
    param([string] $World)
    [IO.File]::ReadAllText("$World/C/imagegen/check-report.json") | ConvertFrom-Json
}

function Get-Partial {
    param([string] $World)
    Get-ChildItem -LiteralPath "$World/C" -Recurse -Force -Filter '*.partial'
}

# A machine that is ready for the phase test.
function New-InstalledWorld {
    param([string] $Source, [scriptblock] $Edit)
    $world = New-World -Source $Source -Edit $Edit
    foreach ($phase in 'bootstrap', 'prepare', 'install') {
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "setup: $phase" -Run $run -Code 0
        Restart-World -World $world
    }
    $world
}

function Test-WholeLife {
    param([string] $Source, [scriptblock] $Edit)
    $world = New-World -Source $Source -Edit $Edit
    foreach ($phase in 'bootstrap', 'prepare', 'install') {
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied" -Run $run -Code 0
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied again" -Run $run -Code 0
        Assert-That -Name "$phase changes nothing again" -Holds ($run.result.changed -eq 0) -Detail $run.text
    }
    Assert-That -Name 'nothing partial is left' -Holds (@(Get-Partial -World $world).Count -eq 0)
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'no seal without report' -Run $run -Code 8
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'test passes' -Run $run -Code 0
    $report = Read-Report -World $world
    $good = $report.passed -and $report.failed -eq 0 -and $report.checked -eq @($report.resources).Count
    Assert-That -Name 'the report is good and whole' -Holds ($good -and $report.checked -gt 0) -Detail $report
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'seal is applied' -Run $run -Code 0
    Restart-World -World $world
    Assert-Run -Name 'a clone starts' -Run (Invoke-Engine -World $world -Phase 'firstboot') -Code 0
    $run = Invoke-Engine -World $world -Phase 'firstboot'
    Assert-Run -Name 'a clone starts again' -Run $run -Code 0
    Assert-That -Name 'its second start changes nothing' -Holds ($run.result.changed -eq 0) -Detail $run.text
    $run = Invoke-Engine -World $world -Phase 'node' -Mode 'test'
    Assert-Run -Name 'a clone is as planned' -Run $run -Code 0
    $journal = [IO.File]::ReadAllLines("$world/C/imagegen/journal.jsonl")
    $bad = @($journal | Where-Object { $null -eq ($_ | ConvertFrom-Json).name })
    Assert-That -Name 'every journal line is an entry' -Holds ($journal.Count -gt 0 -and $bad.Count -eq 0)
}

# Plan and scripts alone: nothing is compared, and nothing is kept as an error.
function Test-Check {
    param([string] $Source)
    $world = New-World -Source $Source
    $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
    Assert-Run -Name 'a good plan is taken' -Run $run -Code 0
    $told = $null -ne $run.result -and $run.result.mode -eq 'check' -and $run.result.failed -eq 0
    Assert-That -Name 'a check has an outcome' -Holds $told -Detail $run.text
    $kept = [IO.File]::Exists("$world/C/imagegen/state/errors.log")
    Assert-That -Name 'a check that passes keeps no reason' -Holds (-not $kept)
    foreach ($name in 'engine/Reason.ps1', 'resources/file.ps1') {
        [IO.File]::AppendAllText("$world/C/imagegen/$name", "`n")
        $run = Invoke-Engine -World $world -Phase 'node' -Mode 'check'
        Assert-Run -Name "a check finds a changed $name" -Run $run -Code 2
        Copy-Script -Destination "$world/C/imagegen"
    }
    $kept = [IO.File]::ReadAllText("$world/C/imagegen/state/errors.log")
    $holds = $kept.Contains('script resources/file.ps1 is') -and -not $kept.Contains('Reason.ps1 is')
    Assert-That -Name 'the reason is kept by a script that was checked' -Holds $holds -Detail $kept
    . "$Provisioners/engine/Reports.ps1"
    $told = "$(Write-Line -Text "a$([char]27)[2Jb$([char]155)c`r`nd`re" 6>&1)"
    $holds = $told -ceq "imagegen: a?[2Jb?c`r`nd?e"
    Assert-That -Name 'no line moves the terminal' -Holds $holds -Detail $told
}

function Test-Drift {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    [IO.File]::AppendAllText("$world/C/opt/cni/bin/win-bridge.exe", 'x')
    Set-ServiceStart -Name 'kubelet' -StartType 'disabled'
    Set-ServiceFailure -Name 'containerd' -ResetSeconds 1 -Actions @(@{ action = 'reboot'; delaySeconds = 1 })
    Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'One' -Kind 'MultiString' -Data @('a', 'b')
    Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Gone' -Kind 'DWord' -Data 1
    $wanted = 'cni/plugins containerd/service kubelet/program kubelet/service registry/list registry/none'
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'drift is found' -Run $run -Code 8
    $report = Read-Report -World $world
    $drifted = @($report.resources | Where-Object { $_.result -eq 'drifted' } | ForEach-Object { $_.name })
    $drifted = @($drifted | Sort-Object)
    Assert-That -Name 'exactly the drifted are reported' -Holds (($drifted -join ' ') -eq $wanted) -Detail $drifted
    $service = $report.resources | Where-Object { $_.name -eq 'kubelet/service' }
    $told = $service.differences[0]
    $good = $told.property -eq 'startType' -and $told.expected -eq 'manual' -and $told.actual -eq 'disabled'
    Assert-That -Name 'a difference says expected and actual' -Holds $good -Detail $told
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test' -ReportOnly
    Assert-Run -Name 'ReportOnly exits 0' -Run $run -Code 0
    Assert-Run -Name 'no seal after drift' -Run (Invoke-Engine -World $world -Phase 'seal') -Code 8
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'install after drift' -Run $run -Code 0
    Assert-That -Name 'install repairs the drifted' -Holds ($run.result.changed -eq 6) -Detail $run.text
    Assert-Run -Name 'test passes again' -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    Set-ServiceConfig -Name 'containerd' -Change @{ state = 'stopped' }
    $run = Invoke-Engine -World $world -Phase 'test'
    Assert-Run -Name 'an assertion says what was found' -Run $run -Code 1 -Text 'service containerd is stopped'
}

function Test-Download {
    param([string] $Source)
    $world = New-World -Source $Source
    $url = 'https://files.example/kubelet.exe'
    $file = Get-Simulation -Area 'urls' -Name $url
    [IO.File]::AppendAllText("$world/mirror/$file", 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes are refused' -Run $run -Code 1 -Text 'pinned is'
    $there = Test-Path -LiteralPath "$world/C/k/kubelet.exe"
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'nothing unchecked is left' -Holds (-not $there -and $left.Count -eq 0) -Detail $left
    [IO.File]::WriteAllBytes("$world/mirror/$file", (Get-TextByte -Text "bytes of $url"))
    Assert-Run -Name 'a good mirror completes it' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0

    $world = New-World -Source $Source
    Set-Simulation -Area 'urls' -Name $url -Value $null
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a missing file is named' -Run $run -Code 1 -Text "download of $url failed"

    $world = New-World -Source $Source
    $file = Get-Simulation -Area 'urls' -Name $url
    Set-Simulation -Area 'urls' -Name $url -Value "reset 2 $file"
    Assert-Run -Name 'a reset download is tried again' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0

    $world = New-World -Source $Source
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $program = Select-Named -Content $content -Name 'kubelet/program'
    $program.timeoutSeconds = 1
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Set-Simulation -Area 'urls' -Name $url -Value 'slow'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a slow download is ended' -Run $run -Code 1 -Text 'time limit of 1 s'

    $world = New-World -Source $Source
    $null = [IO.Directory]::CreateDirectory("$world/C/k")
    [IO.File]::WriteAllText("$world/C/other.txt", 'of somebody')
    $null = New-Item -ItemType HardLink -Path "$world/C/k/kubelet.exe.partial" -Value "$world/C/other.txt"
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a file lies where another grows' -Run $run -Code 0
    $kept = [IO.File]::ReadAllText("$world/C/other.txt")
    Assert-That -Name 'it is not written through' -Holds ($kept -ceq 'of somebody') -Detail $kept
}

# Where the URL of the kubelet leads, one URL after the other; $Last is what the last one gives.
function Set-Redirect {
    param([string] $Last, [string[]] $Leads)
    $at = 'https://files.example/kubelet.exe'
    foreach ($next in $Leads) {
        Set-Simulation -Area 'urls' -Name $at -Value "redirect $next"
        $at = $next
    }
    Set-Simulation -Area 'urls' -Name $at -Value $Last
}

# A machine whose plan allows some hosts.
function New-HostWorld {
    param([string] $Source)
    New-World -Source $Source -Edit {
        param($content)
        $hosts = @('files.example', '*.CDN.example', '127.0.0.1', '[::1]')
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue $hosts
    }
}

# Redirects lead to hosts of the plan alone, never to plain HTTP, five times at most. No message names a query.
function Test-Redirect {
    param([string] $Source)
    $url = 'https://files.example/kubelet.exe'
    $world = New-HostWorld -Source $Source
    $file = Get-Simulation -Area 'urls' -Name $url
    $no = 'of the plan does not allow'
    $odd = 'redirects to a URL that is refused'
    $rows = @(
        @{ to = 'https://evil.example/k?sig=s3cret'; text = "redirects to evil.example, which allowedHosts $no" }
        @{ to = 'https://cdn.example/k'; text = "redirects to cdn.example, which allowedHosts $no" }
        @{ to = 'https://xcdn.example/k'; text = "redirects to xcdn.example, which allowedHosts $no" }
        @{ to = 'https://files.example.evil.example/k'; text = "files.example.evil.example, which allowedHosts" }
        @{ to = 'https://files.example./k'; text = "redirects to files.example., which allowedHosts $no" }
        @{ to = 'https://127.1/k'; text = "redirects to 127.1, which allowedHosts $no" }
        @{ to = 'https://[0:0:0:0:0:0:0:1]/k'; text = "redirects to [0:0:0:0:0:0:0:1], which allowedHosts $no" }
        @{ to = 'http://files.example/k?sig=s3cret'; text = 'redirects to plain HTTP on files.example' }
        @{ to = 'https://files.example@evil.example/k'; text = $odd }
        @{ to = 'https://user:s3cret@files.example/k'; text = $odd }
        @{ to = 'https://evil.example\@files.example/k'; text = $odd }
        @{ to = 'https://files%2eexample/k'; text = $odd }
        @{ to = 'https://*.cdn.example/k'; text = $odd }
        @{ to = 'https://files.example:x/k'; text = $odd }
        @{ to = 'https:///files.example/k'; text = $odd }
        @{ to = 'https:files.example/k'; text = $odd }
        @{ to = 'files.example/k'; text = $odd }
        @{ to = 'ftp://files.example/k'; text = $odd }
        @{ to = 'file:///etc/passwd'; text = $odd }
        @{ to = "https://files.example/$('x' * 9000)"; text = $odd }
    )
    foreach ($row in $rows) {
        Set-Redirect -Last $file -Leads $row.to
        $run = Invoke-Engine -World $world -Phase 'install'
        $name = "a redirect to $($row.to.Substring(0, [Math]::Min(40, $row.to.Length)))"
        Assert-Run -Name "$name is refused" -Run $run -Code 1 -Text $row.text
        Assert-That -Name "$name keeps its secret" -Holds (-not $run.text.Contains('s3cret')) -Detail $run.text
    }
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'no answer of a redirect is left' -Holds ($left.Count -eq 0) -Detail $left

    $leads = @('https://a.cdn.example/1?sig=s3cret', 'https://B.c.CDN.example:8443/2', 'https://127.0.0.1/3',
        'https://[::1]:8443/4#part', 'HTTPS://FILES.example/5')
    Set-Redirect -Last $file -Leads ($leads + 'https://a.cdn.example/6')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'six redirects are refused' -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    Set-Simulation -Area 'urls' -Name $url -Value "redirect $url"
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a circle is refused' -Run $run -Code 1 -Text 'redirects once more, after 5 redirects'
    Set-Redirect -Last 'no-such-file' -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = "download of $url (redirected to a.cdn.example) failed"
    Assert-Run -Name 'a file that is missing behind a redirect' -Run $run -Code 1 -Text $text
    Assert-That -Name 'its message names no query' -Holds (-not $run.text.Contains('s3cret')) -Detail $run.text
    [IO.File]::WriteAllText("$world/mirror/other", 'other bytes')
    Set-Redirect -Last 'other' -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes behind a redirect' -Run $run -Code 1 -Text '(redirected to a.cdn.example) is'
    Set-Redirect -Last $file -Leads $leads
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'five redirects to allowed hosts are followed' -Run $run -Code 0

    $world = New-HostWorld -Source $Source
    Set-Redirect -Last "reset 2 $(Get-Simulation -Area 'urls' -Name $url)" -Leads $leads[0]
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a reset behind a redirect begins again' -Run $run -Code 0

    $world = New-World -Source $Source
    Set-Redirect -Last (Get-Simulation -Area 'urls' -Name $url) -Leads 'https://anywhere.example/k'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a plan without hosts allows every host' -Run $run -Code 0

    $world = New-World -Source $Source -Edit {
        param($content)
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue @('other.example')
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = "allowedHosts $no the host of https://files.example/"
    Assert-Run -Name 'a pinned URL of another host is refused' -Run $run -Code 1 -Text $text
}

# A file that another process holds open is left as it is, and the message names it.
function Test-LockedFile {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    $before = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
    Set-Simulation -Area 'files' -Name 'kubelet.exe' -Value 'locked'
    $run = Invoke-Engine -World $world -Phase 'install'
    $text = 'C:\k\kubelet.exe cannot be replaced: it is being used'
    Assert-Run -Name 'a file that is open is named' -Run $run -Code 1 -Text $text
    $after = [IO.File]::ReadAllText("$world/C/k/kubelet.exe")
    Assert-That -Name 'a file that is open stays' -Holds ($before -ceq $after) -Detail $after
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'nothing partial beside it' -Holds ($left.Count -eq 0) -Detail $left
}

# Files that came with the plan, under their digests: no URL is asked, since the mirror has nothing any more, and
# the plan allows no host.
function Test-Media {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        $content | Add-Member -NotePropertyName 'allowedHosts' -NotePropertyValue @()
    }
    $folder = "$world/C/imagegen/artifacts"
    $null = [IO.Directory]::CreateDirectory($folder)
    $content = [IO.File]::ReadAllText("$world/C/imagegen/guest-plan.json") | ConvertFrom-Json
    $program = ''
    foreach ($resource in $content.resources) {
        if ($resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { continue }
        $wanted = $resource.properties
        $file = Get-Simulation -Area 'urls' -Name $wanted.url
        Copy-Item -LiteralPath "$world/mirror/$file" -Destination "$folder/$($wanted.digest)"
        if ($resource.name -eq 'kubelet/program') { $program = "$folder/$($wanted.digest)" }
    }
    Get-ChildItem -LiteralPath "$world/mirror" -File | Remove-Item -Force
    $bytes = [IO.File]::ReadAllBytes($program)
    [IO.File]::AppendAllText($program, 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'other bytes that came with the plan are refused' -Run $run -Code 1 -Text 'pinned is'
    [IO.File]::WriteAllBytes($program, $bytes)
    Assert-Run -Name 'media are enough' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
}

# A blob of an OCI layout: the text's bytes under their digest, which is given.
function Add-Blob {
    param([string] $World, [string] $Text)
    $folder = "$World/C/imagegen/artifacts/images/blobs/sha256"
    $null = [IO.Directory]::CreateDirectory($folder)
    [IO.File]::WriteAllText("$folder/new", $Text)
    $digest = Get-Digest -Path "$folder/new"
    [IO.File]::Move("$folder/new", "$folder/$digest", $true)
    "sha256:$digest"
}

# Images whose content came with the plan are imported, under the names that the kubelet asks for; no registry is
# asked. A blob with other bytes is refused.
function Test-ImageImport {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pull' -Value '99 no registry is to be asked'
    $config = Add-Blob -World $world -Text '{"os":"windows"}'
    $layer = Add-Blob -World $world -Text 'layer'
    $text = "{`"schemaVersion`":2,`"config`":{`"digest`":`"$config`"},`"layers`":[{`"digest`":`"$layer`"}]}"
    $manifest = Add-Blob -World $world -Text $text
    $other = "sha256:$('f' * 64)"
    $text = "{`"schemaVersion`":2,`"manifests`":[{`"digest`":`"$other`"},{`"digest`":`"$manifest`"}]}"
    $list = Add-Blob -World $world -Text $text
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $names = @{ 'images/pause' = 'registry.example/pause:3.2'; 'images/docker' = 'registry.example/pause:3.5' }
    foreach ($name in $names.Keys) {
        $image = Select-Named -Content $content -Name $name
        $image.properties.reference = "$($names[$name])@$list"
    }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Assert-Run -Name 'images are imported' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    $found = Get-Simulation -Area 'images' -Name 'registry.example/pause:3.2'
    Assert-That -Name 'the CRI knows the name' -Holds ("$found".StartsWith($list)) -Detail $found
    $found = Get-Simulation -Area 'dockerImages' -Name 'registry.example/pause:3.5'
    Assert-That -Name 'Docker knows the name' -Holds ("$($found['Id'])" -ceq $config) -Detail $found
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-That -Name 'images are imported once' -Holds ($run.result.changed -eq 0) -Detail $run.text
    $left = @(Get-ChildItem -Path "$world/C/imagegen/cache" -Filter '*.tar')
    Assert-That -Name 'no archive is left' -Holds ($left.Count -eq 0) -Detail $left
    Clear-Entry -Area 'images' -Name 'registry.example/pause:3.2'
    $image = Select-Named -Content $content -Name 'images/pause'
    $image.properties.reference = "registry.example/pause:3.2@$other"
    $image.properties.pull = $false
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'an image that did not come is left to the node' -Run $run -Code 0
    $image.properties.reference = "registry.example/pause:3.2@$list"
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    [IO.File]::AppendAllText("$world/C/imagegen/artifacts/images/blobs/$($layer.Replace(':', '/'))", 'x')
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a changed layer is refused' -Run $run -Code 1 -Text 'has digest'
}

# A restart that is due stops features; the phase asks for it and is done after it. Packages that are not for this
# Windows are remembered, because no list names them.
function Test-Prepare {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    $run = Invoke-Engine -World $world -Phase 'prepare'
    Assert-Run -Name 'a pending restart is no failure' -Run $run -Code 0 -Text 'waits for a restart'
    Assert-That -Name 'a pending restart is asked for' -Holds $run.result.restart -Detail $run.text
    Restart-World -World $world
    Assert-Run -Name 'prepare after the restart' -Run (Invoke-Engine -World $world -Phase 'prepare') -Code 0

    foreach ($outcome in 'notApplicable', 'present') {
        $world = New-World -Source $Source
        Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
        $run = Invoke-Engine -World $world -Phase 'prepare'
        Assert-Run -Name "an update that is $outcome" -Run $run -Code 0
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase 'prepare'
        $holds = $run.result.changed -eq 0
        Assert-That -Name "an update that is $outcome is remembered" -Holds $holds -Detail $run.text
    }
    $world = New-World -Source $Source
    Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a machine without Defender' -Run $run -Code 0
}

function Test-TimeLimit {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        $service = $content.resources | Where-Object { $_.name -eq 'containerd/service' }
        $service.timeoutSeconds = 1
        $service.properties.displayName = 'hangs'
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a service that hangs is given up' -Run $run -Code 1 -Text 'time limit of 1 s'
    $world = New-World -Source $Source -Edit {
        param($content)
        $service = Select-Named -Content $content -Name 'containerd/service'
        $service.properties.displayName = 'dies'
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a service that dies is given up' -Run $run -Code 1 -Text 'stopped while it was starting'

    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        $sysprep = Select-Named -Content $content -Name 'seal/sysprep'
        $sysprep.timeoutSeconds = 2
        $answers = Select-Named -Content $content -Name 'seal/answers'
        $answers = $answers.properties
        $answers.content = 'hangs'
        $answers.sha256 = Get-ByteHash -Bytes (Get-TextByte -Text 'hangs')
    }
    Assert-Run -Name 'checks before sysprep' -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'sysprep is given up with its log' -Run $run -Code 1 -Text 'last line of setuperr.log'
}

# What was verified is what is unpacked: an archive of the pinned digest whose member has other bytes is refused.
function Test-Member {
    param([string] $Source)
    $world = New-World -Source $Source -Edit {
        param($content)
        foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
    }
    Assert-Run -Name 'members of the planned digests' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0
    $world = New-World -Source $Source -Edit {
        param($content)
        foreach ($resource in $content.resources) { Set-MemberDigest -Resource $resource -All }
        $archive = @($content.resources | Where-Object { $_.type -eq 'archive' })[0]
        @($archive.properties.members)[0].sha256 = '0' * 64
    }
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a member with other bytes is refused' -Run $run -Code 1 -Text 'the unpacked file is'
    $left = @(Get-Partial -World $world)
    Assert-That -Name 'no such member stays' -Holds ($left.Count -eq 0) -Detail $left
}

# Each defect is refused with exit code 2 and leaves the machine as it was.
function Test-Refusal {
    param([string] $Source)
    $edits = @{
        'an unknown property' = {
            param($directory)
            $directory.properties | Add-Member -NotePropertyName 'pth' -NotePropertyValue 'x'
        }
        'an unknown type' = {
            param($directory)
            $directory.type = 'directry'
        }
        'a wildcard as type' = {
            param($directory)
            $directory.type = '*'
        }
        'a missing property' = {
            param($directory)
            $directory.properties.PSObject.Properties.Remove('path')
        }
        'no time' = {
            param($directory)
            $directory.timeoutSeconds = 0
        }
    }
    foreach ($name in $edits.Keys) {
        $world = New-World -Source $Source
        $path = "$world/C/imagegen/guest-plan.json"
        $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
        $null = & $edits[$name] ($content.resources | Where-Object { $_.name -eq 'directories/pki' })
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        Assert-Refusal -Name $name -World $world
    }
    $world = New-World -Source $Source
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $content.resources | Where-Object { $_.name -eq 'kubelet/program' } |
        ForEach-Object { $_.properties.digest = 'unpinned' }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Assert-Refusal -Name 'an artifact that nobody pinned' -World $world
    $world = New-World -Source $Source -Edit {
        param($content)
        $content.schema = 'imagegen.dev/guest-plan/v9'
    }
    Assert-Refusal -Name 'another schema' -World $world
    foreach ($hosts in '"files.example"', 'null', '[null]', '["f*"]', '["*"]', '["?iles.example"]', '[["a"]]') {
        $world = New-World -Source $Source
        $path = "$world/C/imagegen/guest-plan.json"
        $text = [IO.File]::ReadAllText($path).TrimStart().Substring(1)
        [IO.File]::WriteAllText($path, "{ `"allowedHosts`": $hosts, $text")
        Assert-Refusal -Name "allowedHosts of $hosts" -World $world
    }
    $world = New-World -Source $Source
    [IO.File]::AppendAllText("$world/C/imagegen/resources/file.ps1", "`n")
    Assert-Refusal -Name 'a changed script' -World $world
    $world = New-World -Source $Source
    [IO.File]::Delete("$world/C/imagegen/resources/file.ps1")
    Assert-Refusal -Name 'a missing script' -World $world
    $world = New-World -Source $Source
    [IO.File]::WriteAllText("$world/C/imagegen/resources/extra.ps1", "throw 'loaded'`n")
    Assert-Refusal -Name 'a foreign script' -World $world
}

# What Windows says of a script: here a signature is a last line `# signed by NAME`.
function Get-PlayedSignature {
    param([string] $LiteralPath)
    $found = [pscustomobject]@{ Status = 'NotSigned'; StatusMessage = 'played'; SignerCertificate = $null }
    $last = @([IO.File]::ReadAllLines($LiteralPath))[-1]
    if ($last -cmatch '^# signed by (.+)$') {
        $found.Status = 'Valid'
        $bytes = Get-TextByte -Text $Matches[1]
        $found.SignerCertificate = [pscustomobject]@{ Subject = "CN=$($Matches[1])"; RawData = $bytes }
    }
    $found
}

# A machine whose scripts are signed by the provider; $Odd by somebody else, or by nobody.
function New-SignedWorld {
    param([string] $Source, [string] $Odd, [string] $OddSigner, [string] $Policy = 'AllSigned')
    $world = New-World -Source $Source -Edit {
        param($content)
        $digest = Get-ByteHash -Bytes (Get-TextByte -Text 'Provider')
        $named = [pscustomobject]@{ subject = 'CN=Provider'; sha256 = $digest }
        $content | Add-Member -NotePropertyName 'signers' -NotePropertyValue @($named)
        $payload = Get-ChildItem -LiteralPath "$($script:World)/C/imagegen" -Recurse -File
        foreach ($script in $payload | Where-Object { $_.Extension -in '.ps1', '.psm1' }) {
            $name = 'Provider'
            if ($script.Name -eq $Odd) { $name = $OddSigner }
            if ($name) { [IO.File]::AppendAllText($script.FullName, "# signed by $name`n") }
        }
    }
    Set-Simulation -Area 'policy' -Name 'execution' -Value $Policy
    $world
}

# Global functions stand before the commands of Windows.
function Test-Signature {
    param([string] $Source)
    $played = ${function:Get-PlayedSignature}
    $null = New-Item -Path 'function:global:Get-AuthenticodeSignature' -Value $played -Force
    $played = { Get-Simulation -Area 'policy' -Name 'execution' }
    $null = New-Item -Path 'function:global:Get-ExecutionPolicy' -Value $played -Force
    try {
        $world = New-SignedWorld -Source $Source
        Assert-Run -Name 'signed scripts are run' -Run (Invoke-Engine -World $world -Phase 'bootstrap') -Code 0
        $world = New-SignedWorld -Source $Source -Odd 'file.ps1'
        Assert-Refusal -Name 'an unsigned script' -World $world
        $world = New-SignedWorld -Source $Source -Odd 'file.ps1' -OddSigner 'Somebody'
        Assert-Refusal -Name 'a script that another has signed' -World $world
        $world = New-SignedWorld -Source $Source -Policy 'Bypass'
        Assert-Refusal -Name 'a process that loads unsigned scripts' -World $world
    } finally {
        Remove-Item -LiteralPath 'function:Get-AuthenticodeSignature', 'function:Get-ExecutionPolicy'
    }
}

function Assert-Refusal {
    param([string] $Name, [string] $World)
    $before = [IO.File]::ReadAllText("$World/state.json")
    Assert-Run -Name "$Name is refused" -Run (Invoke-Engine -World $World -Phase 'bootstrap') -Code 2
    $same = $before -ceq [IO.File]::ReadAllText("$World/state.json")
    Assert-That -Name "$Name changes nothing" -Holds $same
}

# A rendered plan's scripts may be signed, which no system but Windows can tell.
function Test-RenderedPlan {
    param([string] $Source)
    Test-WholeLife -Source $Source -Edit {
        param($content)
        if ($null -ne $content.PSObject.Properties['signers']) { $content.PSObject.Properties.Remove('signers') }
    }
}

function Test-OwnPlan {
    param([string] $Source)
    $cases = 'WholeLife', 'Check', 'Drift', 'Download', 'Redirect', 'LockedFile', 'Media', 'Member', 'ImageImport',
        'Prepare', 'TimeLimit', 'Refusal', 'Signature', 'Fact', 'RefusedFact', 'LaterFact', 'TaskFact', 'Matrix',
        'ServiceManager', 'PendingService', 'RefusedStart', 'RecoveryAction', 'FileReplacement', 'TarMember',
        'RegistryKind', 'WholeMachine', 'ProcessLife', 'MachineAnswer', 'SysprepEffect', 'UpdateOutcome',
        'StoreContent', 'DiskLaw', 'UserPackageLaw', 'PackageBeforeLaw', 'SealAgentLaw', 'SessionLaw',
        'OwnUpdateLaw', 'TaskLaw', 'PlainListenerLaw', 'UpdateAgentLaw',
        'InstallLife', 'InstallRefusal', 'NodeLife', 'StartNetwork', 'NodeLog', 'PlantedLog', 'OpenNode',
        'OpenFile', 'AccessLaw', 'NodeNetwork', 'NodeProxy',
        'Upgrade', 'Clone', 'ServiceLaw', 'FirstBootLaw', 'WinrmLaw', 'AgentLaw', 'FileLaw', 'PullLaw',
        'UpdateLaw', 'SealLaw'
    foreach ($case in $cases) { Invoke-Case -Name $case -Block { & "Test-$case" -Source $Source } }
}

Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
$env:IMAGEGEN_SIMULATION = $script:World
foreach ($folder in 'mirror', 'C') { $null = [IO.Directory]::CreateDirectory("$($script:World)/$folder") }
# Once, and not after a question for the drive: outside Windows that question mounts the folder ./C by itself.
$null = New-PSDrive -Name 'C' -PSProvider FileSystem -Root "$($script:World)/C" -Scope Global
try {
    foreach ($file in $plans) { Invoke-Case -Name $file -Block { Test-RenderedPlan -Source $file } }
    if (-not $Plan) { Test-OwnPlan -Source "$PSScriptRoot/plan.json" }
} finally {
    [IO.Directory]::SetCurrentDirectory([IO.Path]::GetTempPath())
    Remove-PSDrive -Name 'C' -Scope Global -Force
    Remove-Item -LiteralPath $script:World -Recurse -Force
}
Write-Output -InputObject "$($script:Passed) passed, $($script:Failed) failed"
exit [int]($script:Failed -gt 0 -or $script:Passed -eq 0)

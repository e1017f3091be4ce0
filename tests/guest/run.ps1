<#
.SYNOPSIS
Applies a guest plan with the real engine on a simulated Windows, then breaks things.

.DESCRIPTION
Needs PowerShell 7 with curl and tar on a system without a drive C:. Every world begins empty; its mirror holds
made-up bytes for every URL of the plan, whose digests are replaced accordingly.

.PARAMETER Plan
A rendered guest-plan.json; plan.json beside this script, which has every type, when none is given.

.PARAMETER Provisioners
The folder with engine and resources.

.EXAMPLE
pwsh -NoProfile -File tests/guest/run.ps1
#>
[CmdletBinding()]
param([string] $Plan, [string] $Provisioners = "$PSScriptRoot/../../provisioners")
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
if ([IO.Directory]::Exists('C:\')) {
    Write-Output 'skipped: the simulation mounts a drive C: and this system has one'
    exit 0
}
$script:Passed = 0
$script:Failed = 0
$script:World = Join-Path -Path ([IO.Path]::GetTempPath()) -ChildPath "imagegen-$([guid]::NewGuid().ToString('N'))"

function Assert-That {
    param([string] $Name, [bool] $Holds, $Detail = '')
    if ($Holds) {
        $script:Passed++
    } else {
        $script:Failed++
        # Not through the output: the functions that check also return things.
        [Console]::Out.WriteLine("FAILED: $Name")
        [Console]::Out.WriteLine("    $Detail")
    }
}

. "$PSScriptRoot/Simulated.ps1"

function Get-Bytes {
    param([string] $Text)
    [Text.Encoding]::UTF8.GetBytes($Text)
}

# The bytes that a URL gives, as a file of the mirror. Archives hold what any resource wants of them.
function New-MirrorFile {
    param([string] $Path, $Resource, [object[]] $All)
    $url = $Resource.properties.url
    if ($Resource.type -ne 'archive') {
        [IO.File]::WriteAllBytes($Path, (Get-Bytes -Text "bytes of $url"))
        return
    }
    $folder = "$Path.d"
    $same = $All | Where-Object { $_.type -eq 'archive' -and $_.properties.url -eq $url }
    $members = @($same | ForEach-Object { $_.properties.members })
    $names = @($members | ForEach-Object { $_.member } | Sort-Object -Unique)
    foreach ($name in $names) {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName("$folder/$name"))
        [IO.File]::WriteAllBytes("$folder/$name", (Get-Bytes -Text "$name of $url"))
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

# What must be on the machine before a plan can be applied, and what its programs print.
function Initialize-Machine {
    param([string] $World, [object[]] $Resources)
    Set-Simulation -Area 'listeners' -Name 'HTTPS' -Value '*'
    Set-Simulation -Area 'os' -Name 'build' -Value @{ build = 17763; revision = 9999 }
    $made = @($Resources | Where-Object { $_.type -eq 'service' -and (Get-Given -Of $_ -Name 'commandLine') })
    $made = @($made | ForEach-Object { $_.properties.serviceName })
    foreach ($resource in $Resources) {
        $wanted = $resource.properties
        if ($resource.type -eq 'localUser') {
            Set-Simulation -Area 'users' -Name $wanted.userName -Value 'present'
        }
        $name = ''
        if ($resource.type -eq 'service') { $name = $wanted.serviceName }
        if ($resource.type -eq 'assertion' -and $wanted.check -eq 'service') { $name = $wanted.serviceName }
        if ($name -and $name -notin $made) {
            New-ServiceEntry -Name $name -CommandLine "C:\Windows\$name.exe"
            Set-ServiceConfig -Name $name -Change @{ startType = 'auto'; state = 'running' }
        }
        $file = ''
        if ($resource.type -eq 'sysprep') { $file = $wanted.unattend }
        if ($resource.type -eq 'file' -and $wanted.ensure -eq 'present') { $file = $wanted.path }
        if ($file) {
            $file = "$World/C/" + $file.Substring(3).Replace('\', '/')
            $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($file))
            [IO.File]::WriteAllText($file, 'there before')
        }
        if ($resource.type -ne 'assertion') { continue }
        if ($wanted.check -eq 'osBuild' -and $wanted.holds) {
            $os = @{ build = $wanted.build; revision = [long](Get-Given -Of $resource -Name 'revision') }
            Set-Simulation -Area 'os' -Name 'build' -Value $os
        } elseif ($wanted.check -eq 'command') {
            $line = @($wanted.program) + @(Get-Given -Of $resource -Name 'arguments') -join ' '
            $played = @{ exitCode = [int](-not $wanted.holds); output = "$(Get-MadeText -Of $resource)" }
            Set-Simulation -Area 'programs' -Name $line -Value $played
        }
    }
}

# Scripts of the plan, digests of the mirror's bytes; assertions that no made-up text can meet are left out.
function Write-WorldPlan {
    param([string] $World, $Content)
    $number = 0
    foreach ($resource in $Content.resources) {
        if ($resource.type -notin 'artifact', 'archive', 'msi', 'hotfix') { continue }
        $url = $resource.properties.url
        $file = Get-Simulation -Area 'urls' -Name $url
        if ($null -eq $file) {
            $number++
            $file = "file-$number"
            New-MirrorFile -Path "$World/mirror/$file" -Resource $resource -All $Content.resources
            Set-Simulation -Area 'urls' -Name $url -Value $file
        }
        $hash = (Get-FileHash -LiteralPath "$World/mirror/$file" -Algorithm $resource.properties.algorithm).Hash
        $resource.properties.digest = $hash.ToLowerInvariant()
        if ($resource.type -eq 'msi') {
            $package = $resource.properties.cache.Split('\')[-1]
            Set-Simulation -Area 'packages' -Name $package -Value $resource.properties.creates
        }
    }
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
            foreach ($script in Get-ChildItem -LiteralPath "$World/C/imagegen/$folder") {
                $digest = (Get-FileHash -LiteralPath $script.FullName -Algorithm SHA256).Hash.ToLowerInvariant()
                $scripts["$folder/$($script.Name)"] = $digest
            }
        }
        $Content.scripts = [pscustomobject]$scripts
    }
    $text = ConvertTo-Json -InputObject $Content -Depth 10
    [IO.File]::WriteAllText("$World/C/imagegen/guest-plan.json", $text)
}

# The machine made new, with the payload on it. $Edit changes the plan before it is written.
function New-World {
    param([string] $Source, [scriptblock] $Edit)
    $world = $script:World
    Get-ChildItem -LiteralPath $world -File | Remove-Item -Force
    foreach ($folder in 'mirror', 'C') {
        Get-ChildItem -LiteralPath "$world/$folder" -Force | Remove-Item -Recurse -Force
    }
    $null = [IO.Directory]::CreateDirectory("$world/C/imagegen")
    foreach ($folder in 'engine', 'resources', 'node') {
        if (Test-Path -LiteralPath "$Provisioners/$folder") {
            Copy-Item -LiteralPath "$Provisioners/$folder" -Destination "$world/C/imagegen/$folder" -Recurse
        }
    }
    $content = [IO.File]::ReadAllText($Source) | ConvertFrom-Json
    Initialize-Machine -World $world -Resources $content.resources
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
    $services = @{}
    if ($state.ContainsKey('services')) { $services = $state.services }
    foreach ($service in $services.Values) {
        $service.state = 'stopped'
        if ($service.startType -in 'auto', 'delayed') { $service.state = 'running' }
    }
    [IO.File]::WriteAllText("$World/state.json", (ConvertTo-Json -InputObject $state -Depth 8))
}

function Read-Report {
    param([string] $World)
    [IO.File]::ReadAllText("$World/C/imagegen/check-report.json") | ConvertFrom-Json
}

function Get-Partial {
    param([string] $World)
    @(Get-ChildItem -LiteralPath "$World/C" -Recurse -Force -Filter '*.partial')
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
    param([string] $Source)
    $world = New-World -Source $Source
    foreach ($phase in 'bootstrap', 'prepare', 'install') {
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied" -Run $run -Code 0
        Restart-World -World $world
        $run = Invoke-Engine -World $world -Phase $phase
        Assert-Run -Name "$phase is applied again" -Run $run -Code 0
        Assert-That -Name "$phase changes nothing again" -Holds ($run.result.changed -eq 0) -Detail $run.text
    }
    Assert-That -Name 'nothing partial is left' -Holds ((Get-Partial -World $world).Count -eq 0)
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'no seal without report' -Run $run -Code 8
    $run = Invoke-Engine -World $world -Phase 'test' -Mode 'test'
    Assert-Run -Name 'test passes' -Run $run -Code 0
    $report = Read-Report -World $world
    $good = $report.passed -and $report.failed -eq 0 -and $report.checked -eq @($report.resources).Count
    Assert-That -Name 'the report is good and whole' -Holds ($good -and $report.checked -gt 0) -Detail $report
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'seal is applied' -Run $run -Code 0
    $journal = [IO.File]::ReadAllLines("$world/C/imagegen/journal.jsonl")
    $bad = @($journal | Where-Object { $null -eq ($_ | ConvertFrom-Json).name })
    Assert-That -Name 'every journal line is an entry' -Holds ($journal.Count -gt 0 -and $bad.Count -eq 0)
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
    Assert-That -Name 'nothing unchecked is left' -Holds (-not $there -and (Get-Partial -World $world).Count -eq 0)
    [IO.File]::WriteAllBytes("$world/mirror/$file", (Get-Bytes -Text "bytes of $url"))
    Assert-Run -Name 'a good mirror completes it' -Run (Invoke-Engine -World $world -Phase 'install') -Code 0

    $world = New-World -Source $Source
    Set-Simulation -Area 'urls' -Name $url -Value $null
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a missing file is named' -Run $run -Code 1 -Text "download of $url failed"

    $world = New-World -Source $Source
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    ($content.resources | Where-Object { $_.name -eq 'kubelet/program' }).timeoutSeconds = 1
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Set-Simulation -Area 'urls' -Name $url -Value 'slow'
    $run = Invoke-Engine -World $world -Phase 'install'
    Assert-Run -Name 'a slow download is ended' -Run $run -Code 1 -Text 'time limit of 1 s'
}

# Files that came with the plan, under their digests: no URL is asked, since the mirror has nothing any more.
function Test-Media {
    param([string] $Source)
    $world = New-World -Source $Source
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

    $world = New-InstalledWorld -Source $Source -Edit {
        param($content)
        ($content.resources | Where-Object { $_.type -eq 'sysprep' }).timeoutSeconds = 2
        $answers = ($content.resources | Where-Object { $_.name -eq 'seal/answers' }).properties
        $answers.content = 'hangs'
        $hash = [Security.Cryptography.SHA256]::HashData((Get-Bytes -Text 'hangs'))
        $answers.sha256 = [Convert]::ToHexString($hash).ToLowerInvariant()
    }
    Assert-Run -Name 'checks before sysprep' -Run (Invoke-Engine -World $world -Phase 'test' -Mode 'test') -Code 0
    $run = Invoke-Engine -World $world -Phase 'seal'
    Assert-Run -Name 'sysprep is given up with its log' -Run $run -Code 1 -Text 'last line of setuperr.log'
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
        $bytes = Get-Bytes -Text $Matches[1]
        $found.SignerCertificate = [pscustomobject]@{ Subject = "CN=$($Matches[1])"; RawData = $bytes }
    }
    $found
}

# A machine whose scripts are signed by the provider; $Odd by somebody else, or by nobody.
function New-SignedWorld {
    param([string] $Source, [string] $Odd, [string] $OddSigner, [string] $Policy = 'AllSigned')
    $world = New-World -Source $Source -Edit {
        param($content)
        $hash = [Security.Cryptography.SHA256]::HashData((Get-Bytes -Text 'Provider'))
        $digest = [Convert]::ToHexString($hash).ToLowerInvariant()
        $named = [pscustomobject]@{ subject = 'CN=Provider'; sha256 = $digest }
        $content | Add-Member -NotePropertyName 'signers' -NotePropertyValue @($named)
        foreach ($script in Get-ChildItem -Path "$($script:World)/C/imagegen/*/*.ps*1" -File) {
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

# One run of a script of the node: its exit code and all of its text.
function Invoke-NodeScript {
    param([string] $World, [string] $Name, [hashtable] $With = @{})
    $With.Platform = "$PSScriptRoot/Simulated.ps1"
    $lines = @(& "$World/C/imagegen/node/$Name.ps1" @With 6>&1)
    @{ code = $LASTEXITCODE; text = ($lines -join "`n") }
}

# A machine with what node.conf says, and a kubeadm that does what it is told.
function New-NodeWorld {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    $facts = @('version=1.36.0', 'kubeadm=C:\k\kubeadm.exe', 'kubelet=C:\k\kubelet.exe', 'runtime=containerd')
    $facts += @('endpoint=npipe:////./pipe/x', 'conf=C:\etc\kubernetes', 'kubeletRoot=C:\var\lib\kubelet')
    $facts += @('arguments=C:\var\lib\kubelet\kubeadm-flags.env')
    $facts += @('proxyConf=C:\var\lib\kube-proxy\kubeconfig.conf', 'log=C:\var\log', 'empty=C:\run\flannel')
    $facts += @('before=containerd', 'after=kube-proxy')
    [IO.File]::WriteAllText("$world/C/imagegen/node.conf", ($facts -join "`n"))
    foreach ($folder in 'etc/kubernetes', 'run/flannel', 'var/log/kubelet') {
        $null = [IO.Directory]::CreateDirectory("$world/C/$folder")
    }
    Set-Simulation -Area 'pages' -Name 'http://127.0.0.1:10248/healthz' -Value 'ok'
    $world
}

function Assert-Kubelet {
    param([string] $Name, [string] $StartType, [string] $State, [string] $Arguments)
    $kubelet = Get-ServiceConfig -Name 'kubelet'
    $found = "$($kubelet.startType) $($kubelet.state) $($kubelet.commandLine)"
    $wanted = "$StartType $State C:\k\kubelet.exe --windows-service$Arguments"
    Assert-That -Name "${Name}: the kubelet is $wanted" -Holds ($found -ceq $wanted) -Detail $found
}

# Cluster API runs kubeadm itself. The process of its own that watches is one of the test's here.
function Test-JoinByOthers {
    param([string] $World, [string] $Flags)
    $run = Invoke-NodeScript -World $World -Name 'Join-Node' -With @{ Stage = 'before'; TimeoutSeconds = 30 }
    Assert-Run -Name 'the stage before' -Run $run -Code 0
    $told = Get-Simulation -Area 'os' -Name 'detached'
    $wanted = 'Join-Node.ps1 -Stage watch -TimeoutSeconds 30'
    Assert-That -Name 'somebody watches' -Holds ($told -ceq $wanted) -Detail $told
    Assert-Kubelet -Name 'while kubeadm works' -StartType 'disabled' -State 'stopped' -Arguments ''

    [IO.File]::WriteAllText($Flags, 'KUBELET_KUBEADM_ARGS="--half')
    $run = Invoke-NodeScript -World $World -Name 'Join-Node' -With @{ Stage = 'watch'; TimeoutSeconds = 1 }
    Assert-Run -Name 'half a line is not taken' -Run $run -Code 1
    Assert-Kubelet -Name 'after a watch in vain' -StartType 'manual' -State 'stopped' -Arguments ''
    $told = [IO.File]::ReadAllText("$World/C/imagegen/state/join.log")
    Assert-That -Name 'a watch in vain is told' -Holds $told.Contains('time limit of 1 s') -Detail $told

    [IO.File]::WriteAllText($Flags, "KUBELET_KUBEADM_ARGS=`"--whole`"`n")
    $run = Invoke-NodeScript -World $World -Name 'Join-Node' -With @{ Stage = 'watch'; TimeoutSeconds = 30 }
    Assert-Run -Name 'the watch' -Run $run -Code 0
    Assert-Kubelet -Name 'after the watch' -StartType 'manual' -State 'running' -Arguments ' --whole'
    [IO.File]::WriteAllText("$World/C/etc/kubernetes/kubelet.conf", 'x')
    $run = Invoke-NodeScript -World $World -Name 'Join-Node' -With @{ Stage = 'after' }
    Assert-Run -Name 'the stage after' -Run $run -Code 0
    Assert-Kubelet -Name 'after the stage after' -StartType 'auto' -State 'running' -Arguments ' --whole'
    Assert-Run -Name 'a reset again' -Run (Invoke-NodeScript -World $World -Name 'Reset-Node') -Code 0
}

function Test-NodeLife {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $conf = "$world/C/etc/kubernetes"
    $join = "C:\k\kubeadm.exe join --config $conf/join-config.yaml"
    $secret = 'token: abcdef.0123456789abcdef'
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'a fresh node has not drifted' -Run $run -Code 0

    # Left by another join: not taken for what this one writes.
    $flags = "$world/C/var/lib/kubelet/kubeadm-flags.env"
    $null = [IO.Directory]::CreateDirectory("$world/C/var/lib/kubelet")
    [IO.File]::WriteAllText($flags, "KUBELET_KUBEADM_ARGS=`"--old`"`n")
    Assert-Run -Name 'a line that lacks arguments' -Run (Invoke-NodeScript -World $world -Name 'Test-Node') -Code 8
    Assert-Run -Name 'arguments are added' -Run (Invoke-Engine -World $world -Phase 'join') -Code 0
    [IO.File]::WriteAllText("$conf/join-config.yaml", $secret)
    Assert-Run -Name 'a join that fails' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1
    Assert-Kubelet -Name 'a join that failed' -StartType 'manual' -State 'stopped' -Arguments ''
    $there = [IO.File]::Exists("$conf/join-config.yaml")
    Assert-That -Name 'the secret is gone after a failure' -Holds (-not $there)

    $more = '--node-labels=a=b --register-with-taints=c:NoSchedule --x=C:\d "e"'
    $played = @{ exitCode = 0; output = $secret; creates = 'C:\etc\kubernetes\kubelet.conf' }
    $quoted = $more.Replace('\', '\\').Replace('"', '\"')
    $played.flags = "KUBELET_KUBEADM_ARGS=`"$quoted`"`n"
    Set-Simulation -Area 'programs' -Name $join -Value $played
    [IO.File]::WriteAllText("$conf/join-config.yaml", $secret)
    $run = Invoke-NodeScript -World $world -Name 'Join-Node'
    Assert-Run -Name 'a node joins' -Run $run -Code 0 -Text 'the kubelet is registered and well'
    Assert-That -Name 'no secret is told' -Holds (-not $run.text.Contains('0123456789abcdef')) -Detail $run.text
    $there = [IO.File]::Exists("$conf/join-config.yaml")
    Assert-That -Name 'the secret is gone after a join' -Holds (-not $there)
    Assert-Kubelet -Name 'a node that joined' -StartType 'auto' -State 'running' -Arguments " $more"
    $line = (Get-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'AppParameters').data
    Assert-That -Name 'a line in the registry is completed' -Holds ($line -ceq "--v=2 $more") -Detail $line
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'a node that joined has not drifted' -Run $run -Code 0
    Assert-Run -Name 'no second join' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 1

    [IO.File]::WriteAllText("$world/C/var/log/kubelet/kubelet.log", $secret)
    $with = @{ Destination = "$world/C/diagnosis.zip" }
    $run = Invoke-NodeScript -World $world -Name 'Get-NodeDiagnostics' -With $with
    Assert-Run -Name 'a diagnosis is made' -Run $run -Code 0
    [IO.Compression.ZipFile]::ExtractToDirectory("$world/C/diagnosis.zip", "$world/C/diagnosis")
    $log = [IO.File]::ReadAllText("$world/C/diagnosis/log/kubelet/kubelet.log")
    Assert-That -Name 'a diagnosis tells no token' -Holds ($log -ceq 'token: REDACTED') -Detail $log

    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
    foreach ($name in 'L2Bridge', 'NAT') {
        Set-Simulation -Area 'networks' -Name $name -Value @{ ID = $name; Name = $name; Type = $name }
    }
    Set-Simulation -Area 'endpoints' -Name 'e1' -Value @{ ID = 'e1'; Name = 'e1'; Type = 'L2Bridge' }
    [IO.File]::WriteAllText("$world/C/run/flannel/subnet.env", 'x')
    Assert-Run -Name 'a node is reset' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    $left = @(Invoke-HostNetwork -Method 'GET' -Path '/networks' | ForEach-Object { $_.Name })
    Assert-That -Name 'networks of pods are gone' -Holds ($left -notcontains 'L2Bridge') -Detail $left
    Assert-That -Name 'networks of the runtime stay' -Holds ($left -contains 'NAT') -Detail $left
    $left = @(Invoke-HostNetwork -Method 'GET' -Path '/endpoints')
    Assert-That -Name 'endpoints are gone' -Holds ($left.Count -eq 0) -Detail $left
    foreach ($file in "$conf/kubelet.conf", "$world/C/run/flannel/subnet.env") {
        Assert-That -Name "a reset removes $file" -Holds (-not [IO.File]::Exists($file))
    }
    Assert-Kubelet -Name 'a node that was reset' -StartType 'manual' -State 'stopped' -Arguments ''
    Test-JoinByOthers -World $world -Flags $flags

    [IO.File]::AppendAllText("$world/C/k/kubelet.exe", 'x')
    $run = Invoke-NodeScript -World $world -Name 'Test-Node' -With @{ Format = 'json' }
    Assert-Run -Name 'drift is told as JSON' -Run $run -Code 8 -Text 'kubelet/program'
    Assert-Run -Name 'no join after drift' -Run (Invoke-NodeScript -World $world -Name 'Join-Node') -Code 8
}

# The payload of the same plan is an upgrade to itself; one with another digest or of another machine is none.
function Test-Upgrade {
    param([string] $Source)
    $world = New-NodeWorld -Source $Source
    $upgrade = 'C:\k\kubeadm.exe upgrade node'
    Set-Simulation -Area 'programs' -Name $upgrade -Value @{ exitCode = 0; output = ''; creates = '' }
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $folder = "$world/C/payload"
    $null = [IO.Directory]::CreateDirectory($folder)
    foreach ($name in 'engine', 'node', 'resources', 'guest-plan.json') {
        Copy-Item -LiteralPath "$world/C/imagegen/$name" -Destination "$folder/$name" -Recurse
    }
    $zip = "$world/C/payload.zip"
    [IO.Compression.ZipFile]::CreateFromDirectory($folder, $zip)
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = '0' * 64 }
    Assert-Run -Name 'a payload with another digest is refused' -Run $run -Code 1
    $kept = [IO.File]::Exists("$world/C/imagegen/guest-plan.json")
    Assert-That -Name 'a refused payload changes nothing' -Holds $kept
    $digest = (Get-FileHash -LiteralPath $zip -Algorithm SHA256).Hash
    $run = Invoke-NodeScript -World $world -Name 'Upgrade-Node' -With @{ Payload = $zip; Sha256 = $digest }
    Assert-Run -Name 'a payload is put in place' -Run $run -Code 0
    $kept = [IO.File]::Exists("$world/C/imagegen/previous/guest-plan.json")
    Assert-That -Name 'the payload before is kept' -Holds $kept
    Assert-That -Name 'the kubelet runs again' -Holds ((Get-ServiceConfig -Name 'kubelet').state -eq 'running')
}

function Assert-Bridge {
    param([string] $Name)
    $bridge = Get-Simulation -Area 'networks' -Name 'cbr0'
    $subnet = @($bridge.Subnets)[0]
    $found = "$($bridge.Type) $($subnet.AddressPrefix) $($subnet.GatewayAddress)"
    $holds = $found -eq 'L2Bridge 10.244.3.0/24 10.244.3.1'
    Assert-That -Name "the bridge after $Name" -Holds $holds -Detail $found
    $end = Get-Simulation -Area 'endpoints' -Name 'cbr0_ep'
    Assert-That -Name "the host's end after $Name" -Holds ("$($end.IPAddress)" -eq '10.244.3.2')
    foreach ($address in '10.1.18.7', '10.244.3.2') {
        $forwards = Get-Simulation -Area 'forwarding' -Name $address
        Assert-That -Name "$address forwards after $Name" -Holds ($forwards -eq 'enabled')
    }
}

function Get-SimulatedLine {
    param([string] $Arguments)
    "C:\k\kubectl.exe get $Arguments --output json --kubeconfig C:\etc\kubernetes\kubelet.conf"
}

# A node whose kubelet is registered, in a cluster that answers; with more in its node.conf.
function New-RegisteredWorld {
    param([string] $Source, [string[]] $More)
    $world = New-NodeWorld -Source $Source
    [IO.File]::AppendAllText("$world/C/imagegen/node.conf", "`nkubectl=C:\k\kubectl.exe`n$($More -join "`n")")
    [IO.File]::WriteAllText("$world/C/etc/kubernetes/kubelet.conf", 'x')
    $name = [Net.Dns]::GetHostName().ToLowerInvariant()
    $node = '{"spec":{"podCIDR":"10.244.3.0/24"},"status":{"addresses":[{"type":"Hostname","address":"x"},'
    $node += '{"type":"InternalIP","address":"10.1.18.7"}]}}'
    $answer = @{ exitCode = 0; output = "Warning: old`n$node`n" }
    Set-Simulation -Area 'programs' -Name (Get-SimulatedLine -Arguments "node $name") -Value $answer
    Set-Simulation -Area 'cards' -Name '10.1.18.7' -Value 'Ethernet 2'
    $settings = 'networking:\n  podSubnet: 10.244.0.0/16,fd00::/56\n  serviceSubnet: 10.96.0.0/12\n'
    $answer = @{ exitCode = 0; output = "{`"data`":{`"ClusterConfiguration`":`"$settings`"}}" }
    $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
    Set-Simulation -Area 'programs' -Name $map -Value $answer
    $world
}

# kube-proxy as a service, and flanneld beside it, start when somebody brought their credentials, and are told what
# only a join knows.
function Test-NodeProxy {
    param([string] $Source)
    $more = @('proxyFlags=C:\var\lib\kube-proxy\kube-proxy-flags.env')
    $more += @('proxyArgument=--hostname-override=@NODE_NAME@', 'proxyArgument=--cluster-cidr=@POD_NETWORK@')
    $more += @('proxyArgument=--source-vip=@SOURCE_VIP@')
    $more += @('sourceNetwork=flannel.4096', 'addressPool=C:\opt\cni\bin\host-local.exe')
    $more += @('cniState=C:\var\lib\cni', 'flannel=C:\etc\kube-flannel', 'flanneld=C:\k\flanneld.exe')
    $world = New-RegisteredWorld -Source $Source -More ($more + @('empty=C:\var\lib\cni'))
    foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
        $null = [IO.Directory]::CreateDirectory("$world/C/$folder")
    }
    $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'after' }
    Assert-Run -Name 'a node without credentials for kube-proxy' -Run $run -Code 0
    $found = (Get-ServiceConfig -Name 'kube-proxy').startType
    Assert-That -Name 'kube-proxy waits for its credentials' -Holds ($found -eq 'manual') -Detail $found
    $found = Get-Simulation -Area 'running' -Name 'imagegen-flanneld'
    Assert-That -Name 'flanneld waits for its credentials' -Holds ($null -eq $found) -Detail $found

    foreach ($folder in 'var/lib/kube-proxy', 'etc/kube-flannel') {
        [IO.File]::WriteAllText("$world/C/$folder/kubeconfig.conf", 'x')
    }
    $name = [Net.Dns]::GetHostName().ToLowerInvariant()
    $wanted = 'auto running C:\k\kube-proxy.exe --windows-service '
    $wanted += "--hostname-override=$name --cluster-cidr=10.244.0.0/16 --source-vip=10.244.3.9"
    # The second time the address is the one that is already reserved.
    foreach ($time in 'first', 'second') {
        $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'after' }
        Assert-Run -Name "kube-proxy starts, $time time" -Run $run -Code 0
        $proxy = Get-ServiceConfig -Name 'kube-proxy'
        $found = "$($proxy.startType) $($proxy.state) $($proxy.commandLine)"
        Assert-That -Name "kube-proxy is told, $time time" -Holds ($found -ceq $wanted) -Detail $found
    }
    $found = [IO.File]::ReadAllText("$world/C/etc/kube-flannel/node-name")
    $holds = $found -ceq "$name`r`n" -and (Get-Simulation -Area 'running' -Name 'imagegen-flanneld') -eq 'task'
    Assert-That -Name 'flanneld runs and knows its node' -Holds $holds -Detail $found
    $run = Invoke-NodeScript -World $world -Name 'Test-Node'
    Assert-Run -Name 'what kube-proxy was told is no drift' -Run $run -Code 0
    $reset = 'C:\k\kubeadm.exe reset --force --cri-socket npipe:////./pipe/x'
    Set-Simulation -Area 'programs' -Name $reset -Value @{ exitCode = 0; output = ''; creates = '' }
    Assert-Run -Name 'a reset of it' -Run (Invoke-NodeScript -World $world -Name 'Reset-Node') -Code 0
    $found = (Get-ServiceConfig -Name 'kube-proxy').commandLine
    $holds = $found -ceq 'C:\k\kube-proxy.exe --windows-service'
    Assert-That -Name 'a reset takes it away' -Holds $holds -Detail $found
    $holds = -not [IO.File]::Exists("$world/C/etc/kube-flannel/node-name")
    $holds = $holds -and $null -eq (Get-Simulation -Area 'running' -Name 'imagegen-flanneld')
    Assert-That -Name 'a reset stops flanneld' -Holds $holds
}

# A pod network without an agent: its configuration is filled in from the cluster.
function Test-NodeNetwork {
    param([string] $Source)
    $more = @('network=C:\k\cni\10-win-bridge.conf', 'cniConf=C:\etc\cni\net.d', 'bridge=cbr0')
    $world = New-RegisteredWorld -Source $Source -More $more
    $template = '{"ipam":{"subnet":"@NODE_POD_NETWORK@"},"all":"@NODE_ADDRESS@ '
    $template += '@NODE_POD_GATEWAY@ @NODE_POD_FIRST@ @NETWORK_CARD@ @NODE_NETWORK@ '
    $template += '@POD_NETWORK@ @SERVICE_NETWORK@ @DNS_SERVER@ @DNS_DOMAIN@"}'
    Write-TextFile -Path 'C:\k\cni\10-win-bridge.conf' -Content $template
    $kubelet = "clusterDNS:`n- 10.96.0.10`nclusterDomain: a.test`n"
    Write-TextFile -Path 'C:\var\lib\kubelet\config.yaml' -Content $kubelet
    $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'after' }
    Assert-Run -Name 'a network is filled in' -Run $run -Code 0
    $found = "$(Get-Content -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf' -Raw)"
    $wanted = '{"ipam":{"subnet":"10.244.3.0/24"},"all":"10.1.18.7 10.244.3.2 10.244.3.3 Ethernet 2 10.1.16.0/20 '
    $wanted += '10.244.0.0/16 10.96.0.0/12 10.96.0.10 a.test"}'
    Assert-That -Name 'the network is the cluster''s' -Holds ($found -ceq $wanted) -Detail $found
    Assert-Bridge -Name 'a join'
    # As after a restart that lost the end, and the network of another cluster is there.
    Set-Simulation -Area 'cards' -Name '10.244.3.2' -Value $null
    $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'network' }
    Assert-Run -Name 'the network of a node that starts' -Run $run -Code 0
    Assert-Bridge -Name 'a start'
    $other = @{ ID = 'cbr0'; Name = 'cbr0'; Subnets = @(@{ AddressPrefix = '10.9.0.0/24' }) }
    Set-Simulation -Area 'networks' -Name 'cbr0' -Value $other
    $other = @{ ID = 'cbr0_ep'; Name = 'cbr0_ep'; IPAddress = '10.9.0.2' }
    Set-Simulation -Area 'endpoints' -Name 'cbr0_ep' -Value $other
    $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'network' }
    Assert-Run -Name 'a network of another cluster' -Run $run -Code 0 -Text 'networks cbr0 is gone'
    Assert-Bridge -Name 'another cluster'

    $answer = @{ exitCode = 0; output = '{"data":{"ClusterConfiguration":"networking: {}"}}' }
    $map = Get-SimulatedLine -Arguments 'configmap kubeadm-config --namespace kube-system'
    Set-Simulation -Area 'programs' -Name $map -Value $answer
    Remove-Item -LiteralPath "$world/C/etc/cni/net.d/10-win-bridge.conf" -Force
    $run = Invoke-NodeScript -World $world -Name 'Join-Node' -With @{ Stage = 'after' }
    Assert-Run -Name 'a network that nobody knows' -Run $run -Code 1
    $left = Test-Path -LiteralPath 'C:\etc\cni\net.d\10-win-bridge.conf'
    Assert-That -Name 'no half configuration' -Holds (-not $left)
}

Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
$own = "$PSScriptRoot/plan.json"
$env:IMAGEGEN_SIMULATION = $script:World
foreach ($folder in 'mirror', 'C') { $null = [IO.Directory]::CreateDirectory("$($script:World)/$folder") }
# Once, and not after a question for the drive: outside Windows that question mounts the folder ./C by itself.
$null = New-PSDrive -Name 'C' -PSProvider FileSystem -Root "$($script:World)/C" -Scope Global
try {
    Test-WholeLife -Source $own
    if ($Plan) { Test-WholeLife -Source ([IO.Path]::GetFullPath($Plan, (Get-Location).ProviderPath)) }
    Test-Drift -Source $own
    Test-Download -Source $own
    Test-Media -Source $own
    Test-TimeLimit -Source $own
    Test-Refusal -Source $own
    Test-Signature -Source $own
    Test-NodeLife -Source $own
    Test-NodeNetwork -Source $own
    Test-NodeProxy -Source $own
    Test-Upgrade -Source $own
} finally {
    Remove-PSDrive -Name 'C' -Scope Global -Force
    Remove-Item -LiteralPath $script:World -Recurse -Force
}
Write-Output "$($script:Passed) passed, $($script:Failed) failed"
exit [int]($script:Failed -gt 0)

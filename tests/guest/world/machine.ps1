# A simulated machine: what is on it before a plan, its payload, its restart. Loaded by load.ps1.

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

# A folder of machines that were made before: they are copied, not made anew.
function Get-KeptFolder {
    param([string] $Name)
    $digest = Get-ByteHash -Bytes (Get-TextByte -Text "$Provisioners $Name")
    "$env:IMAGEGEN_SIMULATION/kept/$($digest.Substring(0, 16))"
}

function Save-World {
    param([string] $World, [string] $Name)
    $kept = Get-KeptFolder -Name $Name
    $null = [IO.Directory]::CreateDirectory($kept)
    & cp -a "$World/C" "$World/mirror" $kept
    [IO.File]::WriteAllText("$kept/state.json", (Save-Simulation))
}

# Whether there is such a machine, which then is the world.
function Restore-World {
    param([string] $World, [string] $Name)
    $kept = Get-KeptFolder -Name $Name
    if (-not [IO.File]::Exists("$kept/state.json")) { return $false }
    Clear-World -World $World
    & cp -a "$kept/C" "$kept/mirror" $World
    Restore-Simulation -Text ([IO.File]::ReadAllText("$kept/state.json"))
    $true
}

# The folders themselves stay: one of them is a drive.
function Clear-World {
    param([string] $World)
    # A process in a folder that is gone can start no program.
    [IO.Directory]::SetCurrentDirectory($World)
    & find "$World/C" "$World/mirror" "$World/installer" -mindepth 1 -delete 2>$null
    Restore-Simulation
}

# The machine made new, with the payload on it. $Edit changes the plan before it is written.
function New-World {
    param([string] $Source = "$PSScriptRoot/../plan.json", [scriptblock] $Edit)
    $world = $env:IMAGEGEN_SIMULATION
    if (-not (Restore-World -World $world -Name $Source)) {
        Clear-World -World $world
        Copy-Script -Destination "$world/C/imagegen"
        $content = [IO.File]::ReadAllText($Source) | ConvertFrom-Json
        Initialize-Machine -World $world -Resources $content.resources
        Initialize-Mirror -World $world -Resources $content.resources
        [IO.File]::WriteAllText("$world/mirror/plan.json", (ConvertTo-Json -InputObject $content -Depth 10))
        Write-WorldPlan -World $world -Content $content
        Save-World -World $world -Name $Source
    }
    if ($null -ne $Edit) {
        $content = [IO.File]::ReadAllText("$world/mirror/plan.json") | ConvertFrom-Json
        $null = & $Edit $content
        Write-WorldPlan -World $world -Content $content
    }
    $world
}

# A machine that is ready for the phase test. $Edit changes what its plan says of the phases that come.
function New-InstalledWorld {
    param([scriptblock] $Edit)
    $world = $env:IMAGEGEN_SIMULATION
    if (-not (Restore-World -World $world -Name 'installed')) {
        $world = New-World
        foreach ($phase in 'bootstrap', 'prepare', 'install') {
            $run = Invoke-Engine -World $world -Phase $phase
            if ($run.code -ne 0) { throw "no machine without phase ${phase}: $($run.text)" }
            Restart-World -World $world
        }
        Save-World -World $world -Name 'installed'
    }
    if ($null -ne $Edit) {
        $path = "$world/C/imagegen/guest-plan.json"
        $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
        $null = & $Edit $content
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    }
    $world
}

# Whether the program of a service goes on. A launcher ends without an error as long as the file is not there that
# its program starts with: `startsWith` of a service, or what a launcher on the machine asks for.
function Test-Launch {
    param([string] $World, $Service)
    $needed = $Service['startsWith']
    if ($Service.commandLine -match ' (C:\\[^ "]+\.cmd)( |$)') {
        $launcher = Get-WorldFile -World $World -Path $Matches[1]
        $found = [regex]::Match([IO.File]::ReadAllText($launcher), '(?m)^if not exist "([^"]+)" exit 0')
        if ($found.Success) { $needed = $found.Groups[1].Value }
    }
    -not $needed -or [IO.File]::Exists((Get-WorldFile -World $World -Path $needed))
}

# Features come and go, services start or not.
function Restart-World {
    param([string] $World)
    foreach ($name in Get-SimulationName -Area 'features') {
        $state = Get-Simulation -Area 'features' -Name $name
        if ($state -eq 'pending') { Set-Simulation -Area 'features' -Name $name -Value 'installed' }
        if ($state -eq 'removing') { Set-Simulation -Area 'features' -Name $name -Value $null }
    }
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value $null
    foreach ($name in Get-SimulationName -Area 'services') {
        $service = Get-Simulation -Area 'services' -Name $name
        $service.state = 'stopped'
        $service.exitCode = 1077
        if ($service.startType -in 'auto', 'delayed') {
            $service.exitCode = 0
            if (Test-Launch -World $World -Service $service) { $service.state = 'running' }
        }
        Set-Simulation -Area 'services' -Name $name -Value $service
    }
    # What Windows itself does not keep.
    foreach ($area in 'running', 'recoveries', 'restartMarks') { Clear-Simulation -Area $area }
    Step-Simulation -Moment 'startup'
}

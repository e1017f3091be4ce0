# Each resource type, missing, changed, of another kind, and with an ability that fails. Loaded by run.ps1.

# The file behind a path of the plan.
function Get-WorldFile {
    param([string] $World, [string] $Path)
    "$World/C/" + $Path.Substring(3).Replace('\', '/')
}

# A block runs long after the function that made it has ended, so what blocks need are functions.
function Clear-Entry {
    param([string] $Area, [string] $Name)
    Set-Simulation -Area $Area -Name $Name -Value $null
}

function Add-WorldText {
    param([string] $World, [string] $Path)
    [IO.File]::AppendAllText((Get-WorldFile -World $World -Path $Path), 'x')
}

function Remove-WorldFile {
    param([string] $World, [string] $Path)
    [IO.File]::Delete((Get-WorldFile -World $World -Path $Path))
}

# A folder in the place of a file.
function Set-WorldFolder {
    param([string] $World, [string] $Path)
    Remove-WorldFile -World $World -Path $Path
    $null = [IO.Directory]::CreateDirectory((Get-WorldFile -World $World -Path $Path))
}

# How to break resources of the plan: `breaks` by name, each a block that takes the world; a `text` is why the
# engine does not repair one of another kind. Each type is absent, drifts, is of another kind, and has an ability
# that fails; `none` says why something cannot be.
function Get-Break {
    @{ name = 'bootstrap/winrm'; phase = 'bootstrap'; ability = 'New-WinrmListener'
        none = @{ drift = 'a listener is there or not'; kind = 'a listener is there or not' }
        breaks = @{ absent = { Clear-Entry -Area 'listeners' -Name 'HTTPS' } } }
    @{ name = 'bootstrap/basic'; phase = 'bootstrap'; ability = 'Set-WinrmSetting'
        none = @{ absent = 'what the registry does not say is off'; kind = 'a setting is a text' }
        breaks = @{ drift = { Set-Simulation -Area 'winrm' -Name 'Service\Auth\Basic' -Value 'true' } } }
    @{ name = 'bootstrap/certificate'; phase = 'bootstrap'; ability = 'Add-StoreCertificate'
        none = @{ drift = 'another certificate is not this one'; kind = 'a store has certificates alone' }
        breaks = @{ absent = { Clear-Entry -Area 'certificates' -Name 'TrustedPublisher' } } }
    @{ name = 'features/containers'; phase = 'prepare'; ability = 'Set-Feature'
        none = @{ drift = 'a feature is installed or not'; kind = 'a feature is installed or not' }
        breaks = @{ absent = { Clear-Entry -Area 'features' -Name 'Containers' } } }
    @{ name = 'updates/file'; phase = 'prepare'; ability = 'Install-Hotfix'
        none = @{ drift = 'an update is installed or not'; kind = 'an update is installed or not' }
        breaks = @{ absent = { Clear-Entry -Area 'hotfixes' -Name 'KB5000822' } } }
    @{ name = 'updates/search'; phase = 'prepare'; ability = 'Invoke-UpdateAgent'
        none = @{ drift = 'an update is installed or not'; kind = 'an update is installed or not' }
        breaks = @{ absent = { Clear-Entry -Area 'updates' -Name 'KB5001407' } } }
    @{ name = 'directories/kubernetes'; phase = 'install'; ability = 'Set-Sddl'
        breaks = @{ drift = { Set-Sddl -Path 'C:\k' -Sddl 'O:BAG:SYD:PAI(A;OICI;FA;;;BA)' } } }
    @{ name = 'directories/pki'; phase = 'install'
        breaks = @{ absent = {
            param($world)
            [IO.Directory]::Delete((Get-WorldFile -World $world -Path 'C:\etc\kubernetes\pki'), $true)
        } } }
    @{ name = 'directories/leftovers'; phase = 'install'; text = 'is a file'
        breaks = @{
            drift = { param($world) Add-WorldText -World $world -Path 'C:\leftovers\x' }
            kind = {
                param($world)
                $native = Get-WorldFile -World $world -Path 'C:\leftovers'
                [IO.Directory]::Delete($native, $true)
                [IO.File]::WriteAllText($native, 'x')
            } } }
    @{ name = 'containerd/config'; phase = 'install'; ability = 'Move-File'; text = 'is a folder'
        breaks = @{
            absent = {
                param($world)
                Remove-WorldFile -World $world -Path 'C:\Program Files\containerd\config.toml'
            }
            drift = { param($world) Add-WorldText -World $world -Path 'C:\Program Files\containerd\config.toml' }
            kind = {
                param($world)
                Set-WorldFolder -World $world -Path 'C:\Program Files\containerd\config.toml'
            } } }
    @{ name = 'directories/link'; phase = 'install'; ability = 'New-Link'; text = 'is there and no link'
        breaks = @{
            absent = { Clear-Entry -Area 'links' -Name 'C:\var\lib\kubelet\etc\kubernetes\pki' }
            drift = {
                $link = 'C:\var\lib\kubelet\etc\kubernetes\pki'
                Set-Simulation -Area 'links' -Name $link -Value 'C:\other'
            }
            kind = {
                param($world)
                $link = 'C:\var\lib\kubelet\etc\kubernetes\pki'
                Clear-Entry -Area 'links' -Name $link
                Set-WorldFolder -World $world -Path $link
            } } }
    @{ name = 'kubelet/program'; phase = 'install'; ability = 'Move-File'; text = 'cannot be replaced'
        breaks = @{
            absent = { param($world) Remove-WorldFile -World $world -Path 'C:\k\kubelet.exe' }
            drift = { param($world) Add-WorldText -World $world -Path 'C:\k\kubelet.exe' }
            kind = { param($world) Set-WorldFolder -World $world -Path 'C:\k\kubelet.exe' } } }
    @{ name = 'cni/plugins'; phase = 'install'; ability = 'Move-File'; text = 'cannot be replaced'
        breaks = @{
            kind = { param($world) Set-WorldFolder -World $world -Path 'C:\opt\cni\bin\win-bridge.exe' }
            absent = { param($world) Remove-WorldFile -World $world -Path 'C:\opt\cni\bin\win-bridge.exe' }
            drift = { param($world) Add-WorldText -World $world -Path 'C:\opt\cni\bin\win-bridge.exe' } } }
    @{ name = 'containerd/programs'; phase = 'install'; ability = 'Expand-TarMember'
        breaks = @{ absent = {
            param($world)
            Remove-WorldFile -World $world -Path 'C:\Program Files\containerd\containerd.exe'
        } } }
    @{ name = 'cloud/package'; phase = 'install'; ability = 'Install-Msi'; text = 'cannot be replaced'
        none = @{ drift = 'of a package that is installed its own file is known, not its bytes' }
        breaks = @{
            absent = {
                param($world)
                Remove-WorldFile -World $world -Path 'C:\Program Files\init\init.exe'
            }
            kind = { param($world) Set-WorldFolder -World $world -Path 'C:\Program Files\init\init.exe' } } }
    @{ name = 'registry/number'; phase = 'install'; ability = 'Set-RegistryValue'
        breaks = @{
            absent = { Remove-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Port' }
            drift = { Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Port' -Kind 'DWord' -Data 6 }
            kind = { Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Port' -Kind 'String' -Data '5' } } }
    @{ name = 'registry/none'; phase = 'install'; ability = 'Remove-RegistryValue'
        breaks = @{ drift = {
            Set-RegistryValue -Key 'HKLM:\SYSTEM\Example' -Name 'Gone' -Kind 'DWord' -Data 6
        } } }
    @{ name = 'environment/variable'; phase = 'install'; ability = 'Set-RegistryValue'
        breaks = @{
            absent = { Remove-RegistryValue -Key (Get-EnvironmentKey) -Name 'CONTAINER_RUNTIME_ENDPOINT' }
            drift = {
                $value = @{ Key = (Get-EnvironmentKey); Name = 'CONTAINER_RUNTIME_ENDPOINT'; Data = 'other' }
                Set-RegistryValue @value -Kind 'ExpandString'
            }
            kind = {
                $value = @{ Key = (Get-EnvironmentKey); Name = 'CONTAINER_RUNTIME_ENDPOINT'; Data = '%x%' }
                Set-RegistryValue @value -Kind 'String'
            } } }
    @{ name = 'environment/path'; phase = 'install'; ability = 'Set-RegistryValue'
        none = @{ drift = 'an entry is there or not'; kind = 'an entry is a text' }
        breaks = @{ absent = {
            $value = @{ Key = (Get-EnvironmentKey); Name = 'Path'; Data = 'C:\x' }
            Set-RegistryValue @value -Kind 'ExpandString'
        } } }
    @{ name = 'containerd/service'; phase = 'install'; ability = 'Set-ServiceStart'
        none = @{ kind = 'a name of the service manager is that of a service' }
        breaks = @{
            absent = { Clear-Entry -Area 'services' -Name 'containerd' }
            drift = { Set-ServiceConfig -Name 'containerd' -Change @{ commandLine = 'C:\other.exe' } } } }
    @{ name = 'firewall/kubelet'; phase = 'install'; ability = 'New-FirewallRule'
        breaks = @{
            absent = { Clear-Entry -Area 'firewall' -Name 'kubelet' }
            kind = {
                $rule = Get-FirewallRule -Name 'kubelet'
                $rule.active = $false
                Set-Simulation -Area 'firewall' -Name 'kubelet' -Value $rule
            }
            drift = {
                Remove-FirewallRule -Name 'kubelet'
                New-FirewallRule -Name 'kubelet' -Properties @{ localPort = @('1') }
            } } }
    @{ name = 'ports/dynamic'; phase = 'install'; ability = 'Set-DynamicPort'
        none = @{ kind = 'a range is numbers' }
        breaks = @{ drift = { Set-DynamicPort -Protocol 'TCP' -Start 1025 -Count 1000 } } }
    @{ name = 'ports/excluded'; phase = 'install'; ability = 'Add-ExcludedPort'
        breaks = @{ absent = { Clear-Entry -Area 'excludedPorts' -Name 'UDP' } } }
    @{ name = 'defender/containerd'; phase = 'install'; ability = 'Set-DefenderExclusion'
        none = @{ drift = 'an exclusion is there or not'; kind = 'an exclusion is there or not' }
        breaks = @{ absent = { Clear-Entry -Area 'defender' -Name 'process' } } }
    @{ name = 'images/pause'; phase = 'install'; ability = 'pull'
        breaks = @{
            absent = { Clear-Entry -Area 'images' -Name 'registry.example/pause:3.2' }
            drift = {
                $state = "sha256:$('a' * 64) incomplete (1/2)"
                Set-Simulation -Area 'images' -Name 'registry.example/pause:3.2' -Value $state
            }
            kind = {
                $state = "sha256:$('c' * 64) complete (2/2)"
                Set-Simulation -Area 'images' -Name 'registry.example/pause:3.2' -Value $state
            } } }
    @{ name = 'images/docker'; phase = 'install'; ability = 'pull'
        breaks = @{ absent = { Clear-Entry -Area 'dockerImages' -Name 'registry.example/pause:3.5' } } }
    @{ name = 'system/tools'; phase = 'install'; ability = 'Set-Capability'
        none = @{ drift = 'a capability is installed or not'; kind = 'a capability is installed or not' }
        breaks = @{ absent = { Clear-Entry -Area 'capabilities' -Name 'Tools~~~~0.0.1.0' } } }
    @{ name = 'system/clean'; phase = 'install'; ability = 'Set-Task'
        none = @{ kind = 'a name of Task Scheduler is that of a task' }
        breaks = @{
            absent = { Clear-Entry -Area 'tasks' -Name 'clean' }
            drift = { Set-Task -Name 'clean' -Program 'C:\x.exe' -Trigger 'none' -Enabled $false } } }
    @{ name = 'system/nat'; phase = 'install'; ability = 'Invoke-HostNetwork'
        none = @{ kind = 'a network of another kind is the drift' }
        breaks = @{
            absent = { Clear-Entry -Area 'networks' -Name 'nat' }
            drift = {
                $network = @{ ID = 'nat'; Name = 'nat'; Type = 'ICS' }
                Set-Simulation -Area 'networks' -Name 'nat' -Value $network
            } } }
    @{ name = 'system/power'; phase = 'install'; ability = 'Set-PowerPlan'
        none = @{ absent = 'one plan is always active'; kind = 'a plan is a GUID' }
        breaks = @{ drift = { Set-PowerPlan -Plan '381b4222-f694-41f0-9685-ff5bb260df2e' } } }
    @{ name = 'system/page-file'; phase = 'install'; ability = 'Set-RegistryValue'
        breaks = @{
            absent = { Remove-RegistryValue -Key (Get-MemoryKey) -Name 'PagingFiles' }
            drift = {
                $value = @{ Key = (Get-MemoryKey); Name = 'PagingFiles'; Data = @('C:\pagefile.sys 1 2') }
                Set-RegistryValue @value -Kind 'MultiString'
            }
            kind = {
                $value = @{ Key = (Get-MemoryKey); Name = 'PagingFiles'; Data = '?:\pagefile.sys' }
                Set-RegistryValue @value -Kind 'String'
            } } }
    @{ name = 'system/script'; phase = 'install'; ability = 'Invoke-ScriptText'
        none = @{ absent = 'a script prints something'; kind = 'a script prints text' }
        breaks = @{ drift = { Set-Simulation -Area 'os' -Name 'script' -Value 'other' } } }
    @{ name = 'firstboot/user'; phase = 'firstboot'; ability = 'Set-UserState'
        none = @{ absent = 'an account that is gone is no way in'; kind = 'a name is that of an account' }
        breaks = @{ drift = { Set-Simulation -Area 'users' -Name 'packer' -Value 'present' } } }
}

function Assert-Drifted {
    param([string] $World, $Case, [string] $Kind)
    $run = Invoke-Engine -World $World -Phase $Case.phase -Mode 'test'
    $holds = $run.code -eq 8 -and $run.text.Contains("] drifted $($Case.name) (")
    Assert-That -Name "$($Case.name), ${Kind}: the drift is found" -Holds $holds -Detail $run.text
}

# One way to break one resource: it is found and repaired, or the engine says why it leaves it alone.
function Test-Break {
    param([string] $World, $Case, [string] $Kind)
    $block = $Case.breaks[$Kind]
    $null = & $block $World
    Assert-Drifted -World $World -Case $Case -Kind $Kind
    $run = Invoke-Engine -World $World -Phase $Case.phase
    if ($Kind -eq 'kind' -and $Case.ContainsKey('text')) {
        Assert-Run -Name "$($Case.name), ${Kind}: the reason is said" -Run $run -Code 1 -Text $Case.text
    } else {
        Assert-Run -Name "$($Case.name), ${Kind}: it is repaired" -Run $run -Code 0
        Restart-World -World $World
        $run = Invoke-Engine -World $World -Phase $Case.phase -Mode 'test'
        Assert-Run -Name "$($Case.name), ${Kind}: it stays repaired" -Run $run -Code 0
    }
}

# The first way to break it, while the ability that repairs it fails: its reason is the message.
function Test-FailingAbility {
    param([string] $World, $Case)
    $kind = @($Case.breaks.Keys | Where-Object { $_ -ne 'kind' } | Sort-Object)[0]
    $block = $Case.breaks[$kind]
    $null = & $block $World
    Set-Simulation -Area 'fails' -Name $Case.ability -Value 'yes'
    $run = Invoke-Engine -World $World -Phase $Case.phase
    Set-Simulation -Area 'fails' -Name $Case.ability -Value $null
    $text = "simulated failure of $($Case.ability)"
    Assert-Run -Name "$($Case.name): the reason of a failure is said" -Run $run -Code 1 -Text $text
    $run = Invoke-Engine -World $World -Phase $Case.phase
    Assert-Run -Name "$($Case.name): the next run repairs it" -Run $run -Code 0
    Restart-World -World $World
}

# One resource, missing and changed, on a machine that others share.
function Test-Repair {
    param([string] $World, $Case)
    if ($Case.ContainsKey('ability')) { Test-FailingAbility -World $World -Case $Case }
    foreach ($kind in 'absent', 'drift') {
        if ($Case.breaks.ContainsKey($kind)) { Test-Break -World $World -Case $Case -Kind $kind }
    }
}

function Test-Matrix {
    param([string] $Source)
    $world = New-InstalledWorld -Source $Source
    foreach ($case in @(Get-Break)) {
        Invoke-Case -Name $case.name -Block { Test-Repair -World $world -Case $case }
    }
    # Most of these are left alone by the engine, so each has a machine of its own.
    foreach ($case in @(Get-Break | Where-Object { $_.breaks.ContainsKey('kind') })) {
        Invoke-Case -Name "$($case.name), kind" -Block {
            Test-Break -World (New-InstalledWorld -Source $Source) -Case $case -Kind 'kind'
        }
    }
}

function Assert-Throw {
    param([string] $Name, [scriptblock] $Block)
    $thrown = $false
    try { $null = & $Block } catch { $thrown = $true }
    Assert-That -Name $Name -Holds $thrown
}

# The simulation itself: what tests/guest/laws.json says of Windows, by the names of these cases.
function Test-Fact {
    param([string] $Source)
    $world = New-World -Source $Source
    $folder = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    $file = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)'
    [IO.File]::WriteAllText("$world/C/a.txt", 'x')
    $null = [IO.Directory]::CreateDirectory("$world/C/a")
    Set-Sddl -Path 'C:\a.txt' -Sddl $folder
    $found = Get-Sddl -Path 'C:\a.txt'
    Assert-That -Name 'entries of a file have no inheritance flags' -Holds ($found -ceq $file) -Detail $found
    Set-Sddl -Path 'C:\a' -Sddl 'O:BAG:SYD:P(A;CIOI;FA;;;BA)(A;CIOI;FA;;;S-1-5-18)(A;OICI;FRFX;;;BU)'
    $found = Get-Sddl -Path 'C:\a'
    $wanted = "$folder(A;OICI;0x1200a9;;;BU)"
    Assert-That -Name 'an access list is sorted and shortened' -Holds ($found -ceq $wanted) -Detail $found
    [IO.File]::WriteAllText("$world/C/a.txt.partial", 'y')
    Move-File -From "$world/C/a.txt.partial" -To "$world/C/a.txt"
    $found = Get-Sddl -Path 'C:\a.txt'
    Assert-That -Name 'a file that is moved into place inherits' -Holds ($found -cne $file) -Detail $found
    Assert-Throw -Name 'rights of nothing cannot be set' -Block { Set-Sddl -Path 'C:\none' -Sddl $folder }
    Assert-Throw -Name 'a link needs its target' -Block { New-Link -Path 'C:\link' -Target 'C:\none' }
    $key = 'HKLM:\SOFTWARE\Test'
    Assert-Throw -Name 'a value that is not there cannot be removed' -Block {
        Remove-RegistryValue -Key $key -Name 'x'
    }
    $value = @{ Key = $key; Name = 'x'; Kind = 'DWord'; Data = 4294967296 }
    Assert-Throw -Name 'a number has 32 bits' -Block { Set-RegistryValue @value }
    New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
    Assert-Throw -Name 'a service is made once' -Block { New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe' }
    New-ServiceEntry -Name 'two' -CommandLine 'C:\two.exe'
    Set-ServiceConfig -Name 'two' -Change @{ dependsOn = @('one') }
    Request-ServiceState -Name 'two' -State 'running'
    $one = Get-ServiceConfig -Name 'one'
    Assert-That -Name 'a service starts what it depends on' -Holds ($one.state -eq 'running')
    Request-ServiceState -Name 'one' -State 'stopped'
    $two = Get-ServiceConfig -Name 'two'
    Assert-That -Name 'a service stops what depends on it' -Holds ($two.state -eq 'stopped')
    Set-ServiceStart -Name 'one' -StartType 'disabled'
    Assert-Throw -Name 'a disabled service does not start' -Block {
        Request-ServiceState -Name 'one' -State 'running'
    }
    New-FirewallRule -Name 'rule' -Properties @{ remoteAddress = @('10.1.16.0/20', '10.0.0.1') }
    $rule = Get-FirewallRule -Name 'rule'
    $found = $rule.remoteAddress -join ' '
    $holds = $found -ceq '10.1.16.0/255.255.240.0 10.0.0.1'
    Assert-That -Name 'networks come back with a mask' -Holds $holds -Detail $found
    New-FirewallRule -Name 'except' -Properties @{ localUser = 'O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)' }
    $rule = Get-FirewallRule -Name 'except'
    $found = $rule.localUser
    $holds = $found -ceq 'O:LSD:(D;;CC;;;SY)(A;;CC;;;WD)'
    Assert-That -Name 'accounts of a rule come back as letters' -Holds $holds -Detail $found
    Assert-Throw -Name 'a rule is made once' -Block { New-FirewallRule -Name 'rule' -Properties @{} }
    Assert-Throw -Name 'a task that is not there cannot be removed' -Block { Remove-Task -Name 'none' }
    Set-Simulation -Area 'os' -Name 'pendingRestart' -Value 'yes'
    Assert-Throw -Name 'a pending restart stops features' -Block {
        Set-Feature -Name 'Containers' -Installed $true
    }
    Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    $binary = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActions'
    $found = ConvertFrom-FailureAction -Hex $binary.data
    $told = "$($found.resetSeconds) $($found.actions[0].action) $($found.actions[0].delaySeconds)"
    $holds = $told -eq '900 restart 60'
    Assert-That -Name 'recovery actions are bytes of the registry' -Holds $holds -Detail $told
    Set-ServiceFailureFlag -Name 'one' -Flag $true
    $flag = Get-RegistryValue -Key (Get-ServiceKey -Name 'one') -Name 'FailureActionsOnNonCrashFailures'
    $holds = $flag.kind -eq 'DWord' -and $flag.data -eq 1
    Assert-That -Name 'an error code is a failure where the flag is set' -Holds $holds -Detail $flag
    $digest = "sha256:$('d' * 64)"
    $arguments = @('--config', 'C:\k\crictl.yaml', 'pull', "r.example/x:1@$digest")
    $null = Invoke-Program -Program 'C:\k\crictl.exe' -Arguments $arguments
    $found = Get-Simulation -Area 'images' -Name "r.example/x@$digest"
    $tagged = Get-Simulation -Area 'images' -Name 'r.example/x:1'
    $holds = $null -ne $found -and $null -eq $tagged
    Assert-That -Name 'a pull by digest keeps no tag' -Holds $holds -Detail $tagged
    $arguments = @('-n', 'k8s.io', 'images', 'tag', '--force', "r.example/none@$digest", 'r.example/none:1')
    $tagged = Invoke-Program -Program 'C:\k\ctr.exe' -Arguments $arguments
    Assert-That -Name 'a name that is not there cannot be tagged' -Holds ($tagged.exitCode -ne 0)
    $nat = Invoke-HostNetwork -Method 'POST' -Path '/networks' -Body '{"Name":"nat","Type":"NAT"}'
    $holds = $nat.Subnets[0].GatewayAddress -eq '172.20.0.1'
    Assert-That -Name 'Windows chooses the addresses of a nat network' -Holds $holds -Detail $nat
    Set-Simulation -Area 'urls' -Name 'https://a.example/x' -Value 'redirect https://b.example/y?z=1'
    $command = Get-DownloadCommand -Url 'https://a.example/x' -Path "$world/C/moved"
    $native = Start-Native -Program $command.program -ArgumentLine (Join-Argument -Arguments $command.arguments)
    $told = $native.output.Result
    if (-not $native.process.WaitForExit(10000)) { throw 'the program of a download does not end' }
    $body = [IO.File]::Exists("$world/C/moved")
    $holds = $native.process.ExitCode -eq 0 -and $body -and $told -ceq 'https://b.example/y?z=1'
    Assert-That -Name 'curl tells where a redirect leads and ends' -Holds $holds -Detail $told
}

# What Windows refuses: the simulation is no kinder.
function Test-RefusedFact {
    param([string] $Source)
    $world = New-World -Source $Source
    Set-Simulation -Area 'files' -Name 'open.txt' -Value 'locked'
    [IO.File]::WriteAllText("$world/C/open.txt", 'old')
    [IO.File]::WriteAllText("$world/C/open.txt.partial", 'new')
    Assert-Throw -Name 'a file that another program has open is not replaced' -Block {
        Move-File -From "$world/C/open.txt.partial" -To "$world/C/open.txt"
    }
    Assert-Throw -Name 'a link that is not there cannot be removed' -Block { Remove-Link -Path 'C:\none' }
    Assert-Throw -Name 'a service that is not there cannot be removed' -Block { Remove-ServiceEntry -Name 'none' }
    Assert-Throw -Name 'a service that is not there cannot be started' -Block {
        Request-ServiceState -Name 'none' -State 'running'
    }
    Assert-Throw -Name 'a rule that is not there cannot be removed' -Block { Remove-FirewallRule -Name 'none' }
    Add-ExcludedPort -Protocol 'UDP' -Start 500 -Count 2
    Assert-Throw -Name 'a port is excluded once' -Block {
        Add-ExcludedPort -Protocol 'UDP' -Start 501 -Count 1
    }
    Assert-Throw -Name 'a listener is made once' -Block { New-WinrmListener -Transport 'HTTPS' }
    Assert-Throw -Name 'an account that is not there has no state' -Block {
        Set-UserState -Name 'none' -State 'disabled'
    }
    Assert-Throw -Name 'a task that is not there cannot be started' -Block { Start-Task -Name 'none' }
    Assert-Throw -Name 'a task that is not there cannot be stopped' -Block {
        Stop-Task -Name 'none' -Program 'C:\x.exe'
    }
    Assert-Throw -Name 'an address that no card has forwards nothing' -Block {
        Enable-Forwarding -Address '10.9.9.9'
    }
    Assert-Throw -Name 'a network that is not there cannot be removed' -Block {
        Invoke-HostNetwork -Method 'DELETE' -Path '/networks/none'
    }
    $body = '{"Name":"e","IPAddress":"10.9.0.2"}'
    $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints' -Body $body
    $null = Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}'
    Assert-Throw -Name 'an end is attached once' -Block {
        Invoke-HostNetwork -Method 'POST' -Path '/endpoints/e/attach' -Body '{}'
    }
    Set-Simulation -Area 'os' -Name 'noDefender' -Value 'yes'
    Assert-Throw -Name 'without Defender there is nothing to ask' -Block { Get-DefenderExclusion -Kind 'path' }
}

# What shows itself later: after a restart, after a minute, after the image was generalised.
function Test-LaterFact {
    param([string] $Source)
    $world = New-World -Source $Source
    $due = Set-Feature -Name 'Later' -Installed $true
    $before = Test-Feature -Name 'Later'
    Restart-World -World $world
    $holds = $due -and -not $before -and (Test-Feature -Name 'Later')
    Assert-That -Name 'a feature is there after the restart that it asks for' -Holds $holds
    New-ServiceEntry -Name 'one' -CommandLine 'C:\one.exe'
    Set-ServiceFailure -Name 'one' -ResetSeconds 900 -Actions @(@{ action = 'restart'; delaySeconds = 60 })
    Set-ServiceConfig -Name 'one' -Change @{ stopsWithError = $true }
    $found = @(foreach ($start in 'manual', 'disabled') {
        Set-ServiceStart -Name 'one' -StartType 'manual'
        foreach ($state in 'running', 'running', 'stopped') { Request-ServiceState -Name 'one' -State $state }
        Set-ServiceStart -Name 'one' -StartType $start
        Step-Simulation -Moment 'minute'
        $one = Get-ServiceConfig -Name 'one'
        $one.state
    })
    $holds = $found[0] -eq 'running'
    Assert-That -Name 'recovery actions start a service that stopped with an error' -Holds $holds -Detail $found
    $holds = $found[1] -eq 'stopped'
    Assert-That -Name 'recovery actions start no service that is disabled' -Holds $holds -Detail $found
    Set-Simulation -Area 'users' -Name 'customer' -Value 'present'
    Set-Simulation -Area 'administrators' -Name 'customer' -Value '500'
    $holds = (Test-BuiltInAdministrator -Name 'customer') -and -not (Test-BuiltInAdministrator -Name 'packer')
    Assert-That -Name 'the built-in administrator is one by its identifier' -Holds $holds
}

# When Task Scheduler starts something, and that it starts nothing again because it failed.
function Test-TaskFact {
    param([string] $Source)
    $null = New-World -Source $Source
    $failed = @{ exitCode = 1; output = '' }
    foreach ($trigger in 'startup', 'minutely', 'daily', 'none') {
        Set-Task -Name $trigger -Program 'C:\fails.exe' -ArgumentLine $trigger -Trigger $trigger -Enabled $true
        Set-Simulation -Area 'programs' -Name "C:\fails.exe $trigger" -Value $failed
    }
    Set-Task -Name 'off' -Program 'C:\fails.exe' -ArgumentLine 'off' -Trigger 'minutely' -Enabled $false
    Set-Task -Name 'stays' -Program 'C:\stays.exe' -ArgumentLine '' -Trigger 'minutely' -Enabled $true
    foreach ($moment in 'startup', 'minute', 'minute', 'minute') { Step-Simulation -Moment $moment }
    $names = 'startup', 'minutely', 'daily', 'none', 'off', 'stays'
    $turns = @{}
    foreach ($name in $names) { $turns[$name] = [int](Get-Simulation -Area 'turns' -Name $name) }
    $found = @($names | ForEach-Object { "$_ $($turns[$_])" }) -join ', '
    $holds = $turns.startup -eq 1
    Assert-That -Name 'an exit code is no reason to start a task again' -Holds $holds -Detail $found
    $holds = $turns.minutely -eq 3
    Assert-That -Name 'a task that repeats is started again after it failed' -Holds $holds -Detail $found
    $holds = $turns.stays -eq 1
    Assert-That -Name 'a task that runs is not started beside itself' -Holds $holds -Detail $found
    $holds = $turns.off -eq 0 -and $turns.none -eq 0 -and $turns.daily -eq 0
    Assert-That -Name 'a task without its trigger does not start' -Holds $holds -Detail $found
}

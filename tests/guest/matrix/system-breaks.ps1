# How to break services, the network, images and Windows as a whole; see matrix.Tests.ps1, which loads this.

# Services, the network, images, and Windows as a whole.
function Get-SystemBreak {
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

# How to break resources of the phases before, files and the registry; see matrix.Tests.ps1, which loads this.

# Resources of the phases before, files, folders, and the registry.
function Get-FileBreak {
    @{ name = 'bootstrap/winrm'; phase = 'bootstrap'; ability = 'New-WinrmListener'
        none = @{ drift = 'a listener is there or not'; kind = 'a listener is there or not' }
        breaks = @{ absent = { Clear-Entry -Area 'listeners' -Name 'HTTPS' } } }
    @{ name = 'bootstrap/basic'; phase = 'bootstrap'; ability = 'Set-RegistryValue'
        none = @{ absent = 'what the registry does not say is off'; kind = 'a setting is a text' }
        breaks = @{ drift = { Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true' } } }
    @{ name = 'bootstrap/certificate'; phase = 'bootstrap'; ability = 'Add-StoreCertificate'
        none = @{ drift = 'another certificate is not this one'; kind = 'a store has certificates alone' }
        breaks = @{ absent = { Clear-Entry -Area 'certificates' -Name 'TrustedPublisher' } } }
    @{ name = 'features/containers'; phase = 'prepare'; ability = 'Set-Feature'
        none = @{ drift = 'a feature is installed or not'; kind = 'a feature is installed or not' }
        breaks = @{ absent = { Clear-Entry -Area 'features' -Name 'Containers' } } }
    @{ name = 'updates/file'; phase = 'prepare'; ability = 'Install-Hotfix'
        none = @{ drift = 'an update is installed or not'; kind = 'an update is installed or not' }
        breaks = @{ absent = {
            param($world)
            Clear-Entry -Area 'hotfixes' -Name 'KB5000822'
            # Of an update that went in two restarts the record says that Windows takes it back.
            Clear-Record -World $world
        } } }
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
}

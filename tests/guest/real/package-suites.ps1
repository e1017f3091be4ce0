# Windows' app packages, which an account may have and Sysprep refuses. Loaded by real.ps1.

# Server Core has no service for them: its query may throw, or give nothing (provisioners/steps/900-seal.json).
function Test-Package {
    $key = Get-RegistryValue -Key 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion' -Name 'InstallationType'
    $isCore = $null -ne $key -and $key.data -eq 'Server Core'
    $text = "@(Get-AppxPackage -AllUsers -ErrorAction Stop).Count"
    $said = ''
    try { $said = "$(Invoke-ScriptText -Text $text)".Trim() } catch { $said = "refused: $($_.Exception.Message)" }
    $isNumber = $said -match '^\d+$'
    Assert-That -Name 'packages are listed where the shell is a desktop' -Holds ($isCore -or
        $isNumber) -Detail $said
    if ($isCore) { [Console]::Out.WriteLine("packages of Server Core: $said") }
}

# Sysprep, updates, WinRM and certificates of the simulated machine obey laws.json. Loaded by run.ps1.

function Test-SysprepEffect {
    param([string] $Source)
    $world = New-World -Source $Source
    [IO.File]::WriteAllText("$world/C/answers.xml", '<unattend/>')
    $sysprep = @{ Unattend = 'C:\answers.xml'; Finish = 'quit' }
    Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_COMPLETE'
    Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
    Invoke-Sysprep @sysprep
    $told = "$(Get-ImageState) $(Get-SysprepError)"
    $holds = $told -eq 'IMAGE_STATE_COMPLETE SYSPRP 0x80073cf2'
    Assert-That -Name 'Sysprep that refuses leaves the state and its reason' -Holds $holds -Detail $told

    Clear-Entry -Area 'os' -Name 'sealing'
    Set-Simulation -Area 'keys' -Name 'E5F6' -Value 'private'
    Invoke-Sysprep @sysprep
    $found = Get-ImageState
    $holds = $found -eq 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    Assert-That -Name 'Sysprep leaves the state of a generalised image' -Holds $holds -Detail $found
    $found = Get-Simulation -Area 'keys' -Name 'E5F6'
    Assert-That -Name 'Sysprep takes the private keys of the machine' -Holds ($null -eq $found) -Detail $found
    Set-Simulation -Area 'keys' -Name 'E5F6' -Value 'private'
    $played = @{ exitCode = 0; output = ''; imageState = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE' }
    Set-Simulation -Area 'programs' -Name 'C:\agent.exe seal' -Value $played
    $null = Invoke-Program -Program 'C:\agent.exe' -Arguments @('seal')
    $found = Get-Simulation -Area 'keys' -Name 'E5F6'
    Assert-That -Name 'an agent that seals takes the private keys' -Holds ($null -eq $found) -Detail $found
}

function Test-UpdateOutcome {
    param([string] $Source)
    $null = New-World -Source $Source
    $odd = @(foreach ($outcome in 'installed', 'restart', 'present', 'notApplicable') {
        Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
        $found = Install-Hotfix -Package 'C:\windows-KB5000001.msu'
        if ($found -ne $outcome) { "${outcome}: $found" }
    })
    Assert-That -Name 'each outcome of a package is told' -Holds ($odd.Count -eq 0) -Detail ($odd -join ', ')
    $holds = -not (Test-Hotfix -Kb 'KB5000001')
    Assert-That -Name 'an update that is present is listed nowhere' -Holds $holds
    Clear-Entry -Area 'os' -Name 'hotfixOutcome'

    Set-Simulation -Area 'updates' -Name 'KB5034439' -Value 'never'
    $null = Invoke-UpdateAgent -Kbs 'KB5034439', 'KB5000002' -Install $true
    $found = Invoke-UpdateAgent -Kbs 'KB5034439', 'KB5000002' -Install $false
    $told = @($found.missing) -join ' '
    $holds = $told -eq 'KB5034439'
    Assert-That -Name 'an update that can never be installed stays missing' -Holds $holds -Detail $told
    Set-Simulation -Area 'os' -Name 'busy' -Value 1
    $turns = @(foreach ($turn in 1, 2) { Install-Hotfix -Package 'C:\windows-KB5000003.msu' }) -join ' '
    $holds = $turns -eq 'busy restart'
    Assert-That -Name 'another installation is waited for' -Holds $holds -Detail $turns

    $due = @(foreach ($mark in 'RebootPending', 'RebootInProgress', 'PackagesPending', 'RebootRequired') {
        Set-Simulation -Area 'restartMarks' -Name $mark -Value 'yes'
        Test-PendingRestart
        Clear-Entry -Area 'restartMarks' -Name $mark
    }) -join ' '
    $holds = $due -eq 'True True True True' -and -not (Test-PendingRestart)
    Assert-That -Name 'each mark of a restart counts' -Holds $holds -Detail $due
}

# Certificates in a store, and settings of WinRM.
function Test-StoreContent {
    param([string] $Source)
    $null = New-World -Source $Source
    $content = [Convert]::ToBase64String([byte[]](1, 2, 3))
    foreach ($turn in 1, 2) { Add-StoreCertificate -Store 'Laws' -Content $content }
    $found = @(Get-StoreDigest -Store 'Laws')
    Assert-That -Name 'a store holds a certificate once' -Holds ($found.Count -eq 1) -Detail $found
    $wanted = Get-ByteHash -Bytes ([byte[]](1, 2, 3))
    $holds = $found[0] -ceq $wanted
    Assert-That -Name 'a certificate has the bytes that it came with' -Holds $holds -Detail $found
    Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
    $found = Get-WinrmSetting -Setting 'Service\Auth\Basic'
    Assert-That -Name 'a setting of WinRM comes back' -Holds ($found -eq 'true') -Detail $found
}

# Sysprep, updates, WinRM and certificates of the simulated machine obey laws.json.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"
}

Describe 'SysprepEffect' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        [IO.File]::WriteAllText("$world/C/answers.xml", '<unattend/>')
        $sysprep = @{ Unattend = 'C:\answers.xml'; Finish = 'quit' }
        Set-Simulation -Area 'os' -Name 'imageState' -Value 'IMAGE_STATE_COMPLETE'
        Set-Simulation -Area 'os' -Name 'sealing' -Value 'refused'
        Invoke-Sysprep @sysprep
        $told = "$(Get-ImageState) $(Get-SysprepLine)"
    }

    It 'Sysprep that refuses leaves the state and its reason' {
        $told | Should -Be 'IMAGE_STATE_COMPLETE SYSPRP 0x80073cf2'
    }

    It 'Sysprep leaves the state of a generalised image' {
        Clear-Entry -Area 'os' -Name 'sealing'
        Set-Simulation -Area 'keys' -Name 'E5F6' -Value 'private'
        Invoke-Sysprep @sysprep
        $found = Get-ImageState
        $found | Should -Be 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    }

    It 'Sysprep takes the private keys of the machine' {
        $found = Get-Simulation -Area 'keys' -Name 'E5F6'
        $null -eq $found | Should -BeTrue
    }

    It 'an agent that seals takes the private keys' {
        Set-Simulation -Area 'keys' -Name 'E5F6' -Value 'private'
        $played = @{ exitCode = 0; output = ''; imageState = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE' }
        Set-Simulation -Area 'programs' -Name 'C:\agent.exe seal' -Value $played
        $null = Invoke-Program -Program 'C:\agent.exe' -Arguments @('seal')
        $found = Get-Simulation -Area 'keys' -Name 'E5F6'
        $null -eq $found | Should -BeTrue
    }
}

Describe 'UpdateOutcome' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $odd = @(foreach ($outcome in 'installed', 'restart', 'present', 'notApplicable') {
            Set-Simulation -Area 'os' -Name 'hotfixOutcome' -Value $outcome
            $found = Install-Hotfix -Package 'C:\windows-KB5000001.msu'
            if ($found -ne $outcome) { "${outcome}: $found" }
        })
    }

    It 'each outcome of a package is told' {
        $odd.Count | Should -Be 0 -Because ($odd -join ', ')
    }

    It 'an update that is present is listed nowhere' {
        (Test-Hotfix -Kb 'KB5000001') | Should -BeFalse
    }

    It 'an update that can never be installed stays missing' {
        Clear-Entry -Area 'os' -Name 'hotfixOutcome'
        Set-Simulation -Area 'updates' -Name 'KB5034439' -Value 'never'
        $null = Invoke-UpdateAgent -Kbs 'KB5034439', 'KB5000002' -Install $true
        $found = Invoke-UpdateAgent -Kbs 'KB5034439', 'KB5000002' -Install $false
        $told = @($found.missing) -join ' '
        $told | Should -Be 'KB5034439'
    }

    It 'another installation is waited for' {
        Set-Simulation -Area 'os' -Name 'busy' -Value 1
        $turns = @(foreach ($turn in 1, 2) { Install-Hotfix -Package 'C:\windows-KB5000003.msu' }) -join ' '
        $turns | Should -Be 'busy restart'
    }

    It 'each mark of a restart counts' {
        $due = @(foreach ($mark in 'RebootPending', 'RebootInProgress', 'PackagesPending', 'RebootRequired') {
            Set-Simulation -Area 'restartMarks' -Name $mark -Value 'yes'
            Test-PendingRestart
            Clear-Entry -Area 'restartMarks' -Name $mark
        }) -join ' '
        $due | Should -Be 'True True True True'
        (Test-PendingRestart) | Should -BeFalse -Because $due
    }
}

# Certificates in a store, and settings of WinRM.
Describe 'StoreContent' -Tag 'laws' {
    BeforeAll {
        $null = New-World
        $content = [Convert]::ToBase64String([byte[]](1, 2, 3))
        foreach ($turn in 1, 2) { Add-StoreCertificate -Store 'Laws' -Content $content }
        $found = @(Get-StoreDigest -Store 'Laws')
    }

    It 'a store holds a certificate once' {
        $found.Count | Should -Be 1 -Because $found
    }

    It 'a certificate has the bytes that it came with' {
        $wanted = Get-ByteHash -Bytes ([byte[]](1, 2, 3))
        $found[0] | Should -BeExactly $wanted -Because $found
    }

    It 'another certificate in the store is not the planned one' {
        . "$Provisioners/resources/certificate.ps1"
        $found = Get-certificateResource -store 'Laws' -sha256 ('0' * 64)
        $found.ensure | Should -Be 'absent'
    }

    It 'a setting of WinRM comes back' {
        Set-WinrmSetting -Setting 'Service\Auth\Basic' -Value 'true'
        $found = Get-WinrmSetting -Setting 'Service\Auth\Basic'
        $found | Should -Be 'true'
    }
}

# Accounts of steps: the rights that are left to the account of user-data. Loaded by run.ps1.

# The rights of a machine as secedit.exe writes them, and what it is told to set.
$script:PlayedRights = @{
    'Get-LocalUser' = {
        [CmdletBinding()]
        param([string] $Name)
        if ($Name -eq $script:Rights.account) { [pscustomobject]@{ SID = 'S-1-5-21-1-2-3-1001' } }
    }
    'Invoke-PlayedPolicy' = {
        $line = @($args)
        Set-Variable -Name 'LASTEXITCODE' -Scope Global -Value 0
        $file = $line[[array]::IndexOf($line, '/cfg') + 1]
        if ($line[0] -eq '/export') {
            [IO.File]::WriteAllText($file, $script:Rights.text, [Text.Encoding]::Unicode)
        } else {
            $script:Rights.text = [IO.File]::ReadAllText($file)
        }
    }
}

function Test-LogonRightLaw {
    param([string] $Source)
    $null = New-World -Source $Source
    $lines = @('[Privilege Rights]', 'SeDenyNetworkLogonRight = Guest,*S-1-5-113')
    $lines += 'SeServiceLogonRight = cloudbase-init'
    $script:Rights = @{ account = 'cloudbase-init'; text = ($lines -join "`r`n") }
    $step = @{ Step = '950-firstboot'; Name = 'user-data-rights' }
    $step.Call = '"$env:SystemRoot\System32\secedit.exe"'
    $step.Instead = 'Invoke-PlayedPolicy'
    Use-Played -Functions $script:PlayedRights -Block {
        $told = Invoke-StepScript @step -Part 'test'
        $expected = 'SeDenyInteractiveLogonRight SeDenyRemoteInteractiveLogonRight SeDenyNetworkLogonRight'
        Assert-That -Name 'an account that can log on is found' -Holds ($told -eq $expected) -Detail $told
        $null = Invoke-StepScript @step -Part 'set'
        $told = Invoke-StepScript @step -Part 'test'
        Assert-That -Name 'its logons are denied' -Holds ($told -eq 'denied') -Detail $told
        $holds = $script:Rights.text.Contains('SeDenyNetworkLogonRight = Guest,*S-1-5-113,*S-1-5-21-1-2-3-1001')
        Assert-That -Name 'those of others stay denied' -Holds $holds -Detail $script:Rights.text
        $script:Rights.account = 'another'
        $told = Invoke-StepScript @step -Part 'test'
        Assert-That -Name 'an account that is gone has no logon' -Holds ($told -eq 'denied') -Detail $told
    }
}

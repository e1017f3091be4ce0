# engine/Update.ps1 itself, with an update agent that is played.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # An update as the agent offers it; its outcome is the one that an installation of it has.
    function New-PlayedUpdate {
        param([string] $Kb, [int] $Code = 2, [int] $Problem = 0)
        [pscustomobject]@{
            Title = "update $Kb"
            KBArticleIDs = @($Kb.Substring(2))
            Categories = @()
            BrowseOnly = $false
            EulaAccepted = $true
            IsDownloaded = $true
            Code = $Code
            Problem = $Problem
        }
    }

    # The agent's session. Each search gives the next of the codes, and its whole list with code 2 alone.
    function New-PlayedSession {
        param([int[]] $Codes, [object[]] $Offered, [bool] $IsBusy)
        $searcher = [pscustomobject]@{ Codes = [Collections.ArrayList]@($Codes); Offered = $Offered; Asked = 0 }
        $searcher | Add-Member -MemberType ScriptMethod -Name 'Search' -Value {
            $code = $this.Codes[[Math]::Min($this.Asked, $this.Codes.Count - 1)]
            $this.Asked++
            $list = @()
            if ($code -eq 2) { $list = @($this.Offered) }
            [pscustomobject]@{ ResultCode = $code; Updates = $list }
        }
        $downloader = [pscustomobject]@{ Updates = $null }
        $downloader | Add-Member -MemberType ScriptMethod -Name 'Download' -Value {
            [pscustomobject]@{ ResultCode = 2 }
        }
        $installer = [pscustomobject]@{ Updates = $null; IsBusy = $IsBusy }
        $installer | Add-Member -MemberType ScriptMethod -Name 'Install' -Value {
            if ($this.IsBusy) { [Runtime.InteropServices.Marshal]::ThrowExceptionForHR(-2145124330) }
            $outcome = [pscustomobject]@{ RebootRequired = $true; Results = @($this.Updates) }
            $outcome | Add-Member -MemberType ScriptMethod -Name 'GetUpdateResult' -Value {
                param($number)
                $update = $this.Results[$number]
                [pscustomobject]@{ ResultCode = $update.Code; HResult = $update.Problem }
            }
            $outcome
        }
        $session = [pscustomobject]@{ Searcher = $searcher; Downloader = $downloader; Installer = $installer }
        foreach ($part in 'Searcher', 'Downloader', 'Installer') {
            $body = [scriptblock]::Create("`$this.$part")
            $session | Add-Member -MemberType ScriptMethod -Name "CreateUpdate$part" -Value $body
        }
        $session
    }

    # What Update.ps1 reports of it.
    function Invoke-PlayedAgent {
        param([string] $World, $Session, [string] $Kbs, [string] $Except = '')
        $played = @{
            'New-Object' = {
                param([string] $TypeName, [object[]] $ArgumentList, [string] $ComObject)
                if ($ComObject -eq 'Microsoft.Update.Session') { return $Session }
                if ($ComObject) {
                    $list = [Collections.ArrayList]@()
                    return , $list
                }
                Microsoft.PowerShell.Utility\New-Object -TypeName $TypeName -ArgumentList $ArgumentList
            }
            'Start-Sleep' = {
                param([int] $Seconds)
                if ($Seconds -lt 1) { throw 'a wait takes time' }
            }
        }
        $with = @{ Result = "$World/C/updates.json"; Kbs = $Kbs; Except = $Except; Install = $true }
        Use-Played -Functions $played -Block { & "$Provisioners/engine/Update.ps1" @with }
        [IO.File]::ReadAllText($with.Result) | ConvertFrom-Json
    }
}

Describe 'UpdateAgentLaw' -Tag 'laws' {
    BeforeAll {
        $world = New-World
        $good = New-PlayedUpdate -Kb 'KB5000001'
        $session = New-PlayedSession -Codes 3, 3, 2 -Offered @($good)
        $report = Invoke-PlayedAgent -World $world -Session $session -Kbs 'KB5000001'
        $told = "$($session.Searcher.Asked) $(@($report.missing) -join ' ')"
    }

    It 'a search that is not complete is asked again' {
        $told | Should -Be '3 KB5000001' -Because "$told $($report.error)"
        $report.restart | Should -BeTrue -Because "$told $($report.error)"
        $report.error | Should -BeFalse -Because "$told $($report.error)"
    }

    It 'a search that is never complete is no answer' {
        $session = New-PlayedSession -Codes 3 -Offered @($good)
        $report = Invoke-PlayedAgent -World $world -Session $session -Kbs 'KB5000001'
        $report.error.Contains('not complete') | Should -BeTrue -Because $report.error
    }

    It 'each update has its own outcome' {
        # 0x80070643
        $bad = New-PlayedUpdate -Kb 'KB5034439' -Code 4 -Problem (-2147023293)
        $session = New-PlayedSession -Codes 2 -Offered @($good, $bad)
        $report = Invoke-PlayedAgent -World $world -Session $session -Kbs 'KB5000001,KB5034439'
        $told = @($report.failed) -join ', '
        $told | Should -Be 'update KB5034439: 0x80070643' -Because "$told $($report.error)"
    }

    It 'an agent that another installation holds is busy' {
        $session = New-PlayedSession -Codes 2 -Offered @($good) -IsBusy $true
        $report = Invoke-PlayedAgent -World $world -Session $session -Kbs 'KB5000001'
        $report.busy | Should -BeTrue -Because $report.error
        $report.error | Should -BeFalse -Because $report.error
    }
}

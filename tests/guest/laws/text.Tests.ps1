# Rules over the syntax of all scripts, for what no simulated Windows shows.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

    # The syntax tree of a text.
    function Get-TextTree {
        param([string] $Text)
        [Management.Automation.Language.Parser]::ParseInput($Text, [ref]$null, [ref]$null)
    }

    # Parts of a tree that are of a class, and for which the block gives true.
    function Select-Part {
        param($Tree, [string] $Class, [scriptblock] $Where)
        $class = "System.Management.Automation.Language.$Class" -as [type]
        $parts = $Tree.FindAll({ param($node) $node -is $class }.GetNewClosure(), $true)
        @($parts | Where-Object $Where)
    }

    # PowerShell makes calls of its own between two lines, and .NET keeps the error number of the last one alone.
    function Find-LateErrorNumber {
        param($Tree)
        Select-Part -Tree $Tree -Class 'InvokeMemberExpressionAst' -Where {
            "$($_.Member)" -in 'GetLastWin32Error', 'GetLastPInvokeError', 'GetHRForLastWin32Error'
        }
    }

    # With -Path, what a variable holds is a pattern. Split-Path makes no pattern of it.
    function Find-PatternPath {
        param($Tree)
        Select-Part -Tree $Tree -Class 'CommandAst' -Where {
            if (-not $_.GetCommandName()) { return $false }
            $command = Get-Command -Name $_.GetCommandName() -CommandType Cmdlet -ErrorAction Ignore
            if ($null -eq $command -or $command.Name -eq 'Split-Path') { return $false }
            if (-not $command.Parameters.ContainsKey('LiteralPath')) { return $false }
            for ($i = 0; $i -lt $_.CommandElements.Count; $i++) {
                if ("$($_.CommandElements[$i])" -ne '-Path') { continue }
                $given = $_.CommandElements[$i + 1]
                return @(Select-Part -Tree $given -Class 'VariableExpressionAst' -Where { $true }).Count -gt 0
            }
            $false
        }
    }

    # Nobody sees the verbose stream of a bake: a reason is told, or there is none.
    function Find-HiddenReason {
        param($Tree)
        Select-Part -Tree $Tree -Class 'CommandAst' -Where {
            $_.GetCommandName() -in 'Write-Verbose', 'Write-Debug'
        }
    }

    # .NET takes a trailing dot or blank away and makes a device of `nul`, before \\?\ could keep them.
    function Find-ChangedPath {
        param($Tree)
        Select-Part -Tree $Tree -Class 'InvokeMemberExpressionAst' -Where { "$($_.Member)" -eq 'GetFullPath' }
        Select-Part -Tree $Tree -Class 'AssignmentStatementAst' -Where { "$($_.Left)" -like '*.Attributes' }
    }

    # Texts of PowerShell in the tree of sources, as objects of name and text: scripts and those inside steps.
    function Get-SourceText {
        param([string] $Top, [string[]] $Folder)
        foreach ($name in $Folder) {
            foreach ($file in Get-ChildItem -LiteralPath "$Top/$name" -Recurse -File) {
                if ($file.Extension -in '.ps1', '.psm1') {
                    [pscustomobject]@{ name = $file.FullName; text = [IO.File]::ReadAllText($file.FullName) }
                } elseif ($file.Extension -eq '.json' -and $file.Directory.Name -eq 'steps') {
                    $step = [IO.File]::ReadAllText($file.FullName) | ConvertFrom-Json
                    foreach ($resource in $step.resources) {
                        if ($resource.type -ne 'script') { continue }
                        foreach ($part in 'test', 'set') {
                            $text = $resource.properties.$part
                            [pscustomobject]@{ name = "$($file.Name) $($resource.name) $part"; text = $text }
                        }
                    }
                }
            }
        }
    }

    # A rule finds what is planted, and nothing in the folders. Only texts that have a word of it become trees.
    function Assert-Rule {
        param([string] $Rule, [string] $Word, [string] $Planted, [object[]] $Sources)
        $Planted | Should -Match $Word
        $found = @(& $Rule -Tree (Get-TextTree -Text $Planted))
        $found.Count | Should -Be 1 -Because "$Rule finds: $Planted"
        $found = @(foreach ($source in $Sources | Where-Object { $_.text -match $Word }) {
            foreach ($part in @(& $Rule -Tree (Get-TextTree -Text $source.text))) {
                "$($source.name):$($part.Extent.StartLineNumber): $part"
            }
        })
        $Sources.Count | Should -BeGreaterThan 0
        $found -join "`n" | Should -Be '' -Because "$Rule finds nothing"
    }
}

Describe 'TextLaw' -Tag 'laws' {
    It 'no script breaks a rule' {
        $top = [IO.Path]::GetFullPath("$PSScriptRoot/../../..")
        $ours = @(Get-SourceText -Top (Split-Path -Path $Provisioners) -Folder 'provisioners')
        $all = $ours + @(Get-SourceText -Top $top -Folder 'tests/guest', 'packer', 'manifests/cluster')
        $planted = '$code = [Runtime.InteropServices.Marshal]::GetLastWin32Error()'
        $rule = @{ Rule = 'Find-LateErrorNumber'; Word = 'GetLast|GetHRFor' }
        Assert-Rule @rule -Planted $planted -Sources $all
        $rule = @{ Rule = 'Find-PatternPath'; Word = '-Path ' }
        Assert-Rule @rule -Planted 'Get-ChildItem -Path "$PSScriptRoot/*"' -Sources $all
        $rule = @{ Rule = 'Find-HiddenReason'; Word = 'Write-(Verb|Deb)' }
        Assert-Rule @rule -Planted 'Write-Verbose -Message "$_"' -Sources $ours
        $names = '/(engine/windows/\w+|engine/Files|node/Reset|node/Logs)[.]ps1$'
        $files = @($ours | Where-Object { $_.name -cmatch $names })
        $changed = @{ Rule = 'Find-ChangedPath'; Word = 'GetFullPath|[.]Attributes'; Sources = $files }
        Assert-Rule @changed -Planted '"\\?\$([IO.Path]::GetFullPath($Path))"'
        Assert-Rule @changed -Planted '$item.Attributes = ''Normal'''
    }
}

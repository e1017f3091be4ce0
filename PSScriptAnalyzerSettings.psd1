# Settings of PSScriptAnalyzer for the PowerShell of this repository:
# Invoke-ScriptAnalyzer -Path provisioners -Recurse -Settings PSScriptAnalyzerSettings.psd1
# ci/analyzer/analyze.ps1 judges everything by them, and by rules of its own.
@{
    Severity = @('Error', 'Warning', 'Information')
    Rules = @{
        PSUseCompatibleSyntax = @{ Enable = $true; TargetVersions = @('5.1') }
        # Microsoft's profile of Windows PowerShell 5.1 on Windows Server 2019.
        PSUseCompatibleCommands = @{
            Enable = $true
            TargetProfiles = @('win-8_x64_10.0.17763.0_5.1.17763.316_x64_4.0.30319.42000_framework')
        }
        PSUseCompatibleTypes = @{
            Enable = $true
            TargetProfiles = @('win-8_x64_10.0.17763.0_5.1.17763.316_x64_4.0.30319.42000_framework')
            # `Add-Type` loads its assembly, Microsoft.VisualBasic of .NET Framework, just before.
            IgnoreTypes = @('Microsoft.VisualBasic.FileIO.FileSystem')
        }
        PSAvoidLongLines = @{ Enable = $true; MaximumLineLength = 115 }
    }
    ExcludeRules = @(
        # No person calls these functions: the engine does, and `-Mode test` is its way to change nothing.
        'PSUseShouldProcessForStateChangingFunctions'
        # A setter declares each field of its resource type, and the simulation each parameter of Windows;
        # Find-Unread of ci/analyzer finds the others.
        'PSReviewUnusedParameter'
        # What functions give is private to the modules that load them.
        'PSUseOutputTypeCorrectly'
        # Functions are described by comments before them; scripts that people start have comment-based help.
        'PSProvideCommentHelp'
    )
}

# Settings of PSScriptAnalyzer for the PowerShell of this repository:
# Invoke-ScriptAnalyzer -Path provisioners -Recurse -Settings PSScriptAnalyzerSettings.psd1
@{
    Severity = @('Error', 'Warning', 'Information')
    ExcludeRules = @(
        # No person calls these functions: the engine does, and `-Mode test` is its way to change nothing.
        'PSUseShouldProcessForStateChangingFunctions'
        # A setter declares each field of its resource type, and the simulation each parameter of Windows;
        # tests/guest_static/analyzer.rs finds the others.
        'PSReviewUnusedParameter'
        # What functions give is private to the modules that load them.
        'PSUseOutputTypeCorrectly'
        # Functions are described by comments before them; scripts that people start have comment-based help.
        'PSProvideCommentHelp'
    )
}

//! The rules of the machine model.

use crate::base::choice::words;

words!(
    /// A rule of the machine model. Its id is the variant in kebab case.
    Rule {
        AccountRefused = "account-refused",
        AnswerFileMissing = "answer-file-missing",
        BuildLeftover = "build-leftover",
        CommandCharacter = "command-character",
        CredentialProvider = "credential-provider",
        CriEndpoint = "cri-endpoint",
        DependencyCycle = "dependency-cycle",
        DependencyMissing = "dependency-missing",
        DependencyStart = "dependency-start",
        DuplicateResource = "duplicate-resource",
        EnvironmentNamesMissingFile = "environment-names-missing-file",
        FeatureBeforeRestart = "feature-before-restart",
        FeatureMissing = "feature-missing",
        FlagFileMissing = "flag-file-missing",
        InsecureProgram = "insecure-program",
        LinkTargetMissing = "link-target-missing",
        NameAfterUserData = "name-after-user-data",
        NameConflict = "name-conflict",
        ParentDirectoryMissing = "parent-directory-missing",
        PathConflict = "path-conflict",
        PathEntryWithoutDirectory = "path-entry-without-directory",
        PortMalformed = "port-malformed",
        PortTaken = "port-taken",
        PortWithoutRule = "port-without-rule",
        PropertyMissing = "property-missing",
        ProxyWithoutNetwork = "proxy-without-network",
        SddlInvalid = "sddl-invalid",
        ServiceProgramLater = "service-program-later",
        ServiceProgramMissing = "service-program-missing",
        ServiceSettings = "service-settings",
        ServiceStartsTooEarly = "service-starts-too-early",
        ServiceUnknown = "service-unknown",
        SessionCut = "session-cut",
        SysprepMissing = "sysprep-missing",
        ToolMissing = "tool-missing",
        UnknownFlag = "unknown-flag",
        UnknownGate = "unknown-gate",
    }
);

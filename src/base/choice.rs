//! Closed sets a user chooses from, each written one way everywhere.

use super::names::format_suggestion;

/// A word outside a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{given}`: {}", format_suggestion(.given, .known.iter().map(String::as_str)))]
pub struct UnknownName {
    pub what: &'static str,
    pub given: String,
    pub known: Vec<String>,
}

/// Declares a closed set: its words in JSON and in messages.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// Declares a closed set whose words a user gives.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($set:tt)+ }) => {
        $crate::base::choice::words!($(#[$doc])* $name { $($set)+ });

        impl std::str::FromStr for $name {
            type Err = $crate::base::choice::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let known = Self::ALL.iter().find(|choice| choice.as_str() == text);
                known.copied().ok_or_else(|| $crate::base::choice::UnknownName {
                    what: $what,
                    given: text.to_owned(),
                    known: Self::ALL.iter().map(|choice| choice.as_str().to_owned()).collect(),
                })
            }
        }
    };
}

choice!(
    /// Program that runs the containers.
    Runtime, "runtime", { Containerd = "containerd", Docker = "docker" }
);

impl Runtime {
    /// The pipe of its CRI, which crictl asks; Docker's is served by the kubelet itself.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::Containerd => "npipe:////./pipe/containerd-containerd",
            Self::Docker => "npipe:////./pipe/dockershim",
        }
    }

    /// The name by which kubeadm knows it. With any other one than Docker's own, kubeadm takes Docker for a remote
    /// runtime, and the kubelet dials the pipe that it should serve.
    /// Source: kubernetes/kubernetes@v1.20.0 `cmd/kubeadm/app/constants/constants_windows.go`, and
    /// `cmd/kubeadm/app/phases/kubelet/flags.go`; the same in v1.17.17 and v1.23.17.
    pub fn kubeadm_socket(self) -> &'static str {
        match self {
            Self::Containerd => self.endpoint(),
            Self::Docker => "npipe:////./pipe/docker_engine",
        }
    }
}

choice!(
    /// How far an image is prepared for a join.
    Join, "join", {
        /// The kubelet is ready for `kubeadm join`.
        Kubeadm = "kubeadm",
        /// The same, with what published templates call besides.
        Templates = "templates",
        /// Windows alone: something else brings the kubelet and its runtime.
        None = "none",
    }
);

choice!(
    /// How kube-proxy, CNI and storage agents reach the host.
    HostAccess, "host access", {
        Hostprocess = "hostprocess",
        Wins = "wins",
        /// As Windows services, baked into the image.
        Services = "services",
    }
);

choice!(
    /// Builds that are counted together when the newest are kept.
    KeepPer, "group", {
        /// A line in one workspace of one source: a workspace may go over to the next line.
        Workspace = "workspace",
        /// Name of the image, target, Windows release and Kubernetes line.
        Line = "line",
    }
);

choice!(
    /// How payloads get into the guest.
    Delivery, "delivery", {
        /// The guest downloads pinned URLs and checks digests.
        Download = "download",
        /// A CD image.
        Media = "media",
        /// Downloads from another prefix.
        Mirror = "mirror",
    }
);

choice!(
    /// Kinds of updates, as Windows Update calls them without blanks.
    UpdateCategory, "update category", {
        CriticalUpdates = "CriticalUpdates",
        DefinitionUpdates = "DefinitionUpdates",
        Drivers = "Drivers",
        FeaturePacks = "FeaturePacks",
        SecurityUpdates = "SecurityUpdates",
        ServicePacks = "ServicePacks",
        UpdateRollups = "UpdateRollups",
        Updates = "Updates",
    }
);

impl UpdateCategory {
    /// The id that the update agent knows whatever the system's language: Microsoft's list of
    /// classification GUIDs of WSUS.
    pub fn id(self) -> &'static str {
        match self {
            Self::CriticalUpdates => "e6cf1350-c01b-414d-a61f-263d14d133b4",
            Self::DefinitionUpdates => "e0789628-ce08-4437-be74-2495b842f43b",
            Self::Drivers => "ebfc1fc5-71a4-4f7b-9aca-3b9a503104a0",
            Self::FeaturePacks => "b54e7d24-7add-428f-8b75-90a396fa584f",
            Self::SecurityUpdates => "0fa1201d-4330-4fa8-8ae9-b877473b6441",
            Self::ServicePacks => "68c5b0a3-d1a6-4553-ae49-01d3a7827828",
            Self::UpdateRollups => "28bc880e-0592-4cbf-8f95-c79b17911d5f",
            Self::Updates => "cd5ffd1e-e932-4e3a-bf74-18bf0b1bbd83",
        }
    }
}

choice!(
    /// How results are printed.
    Format, "format", {
        Text = "text",
        Json = "json",
        /// For the comment of a pull request; `imagegen diff` alone.
        Markdown = "markdown",
    }
);

choice!(
    /// A part of a comparison.
    DiffPart, "part of a comparison", {
        Components = "components",
        Machine = "machine",
        Build = "build",
    }
);

choice!(
    /// Format of a bill of materials.
    SbomFormat, "format of a bill of materials", { Cyclonedx = "cyclonedx", Spdx = "spdx" }
);

choice!(
    /// Reaction of Packer to a build that fails.
    OnError, "reaction to an error", { Cleanup = "cleanup", Abort = "abort", Ask = "ask" }
);

words!(
    /// Part of Microsoft Defender that a file of its publisher replaces.
    DefenderPart {
        Platform = "platform",
        Signatures = "signatures",
    }
);

words!(
    /// Act that a container runtime trusts a registry with.
    RegistryCapability {
        Pull = "pull",
        Resolve = "resolve",
        Push = "push",
    }
);

words!(
    /// Least level of what a daemon logs.
    LogLevel {
        Trace = "trace",
        Debug = "debug",
        Info = "info",
        Warn = "warn",
        Error = "error",
        Fatal = "fatal",
        Panic = "panic",
    }
);

#[cfg(test)]
mod tests {
    use super::Runtime;

    #[test]
    fn unknown_words_get_the_nearest_known_one() {
        assert_eq!(
            "contanerd"
                .parse::<Runtime>()
                .expect_err("a typing error")
                .to_string(),
            "unknown runtime `contanerd`: did you mean `containerd`?"
        );
        assert_eq!(
            "x".parse::<Runtime>().expect_err("x").to_string(),
            "unknown runtime `x`: expected one of containerd, docker"
        );
    }
}

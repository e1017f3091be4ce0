//! Things that a user should know, and that stop nothing.

use super::codes;

codes! {
    "warning"
    Selection FLOATING_BASE_IMAGE "floating-base-image" "The platform chooses the newest base image in each build, and the lockfile does not fix it.",
    Selection GUEST_HEADERS "guest-headers" "The guest downloads this artifact without the headers of the override; the server must answer without them.",
    Selection NEWER_RELEASE "newer-release" "The lockfile selects a Kubernetes release that is newer than the catalog; flags and fields are checked against earlier releases.",
    Selection NOT_SURVEYED "not-surveyed" "The programs of the Kubernetes line are not surveyed: flags, feature gates and fields are not checked.",
    Selection OVERRIDE_CONTRADICTS_CATALOG "override-contradicts-catalog" "An override states another digest than the catalog for the same URL.",
    Selection OVERRIDE_DROPS_PROOFS "override-drops-proofs" "An override takes a component from another address, where its publisher's signatures do not apply.",
    Selection OWN_ANCHOR "own-anchor" "An artifact is verified by a key or root that the image definition chooses.",
    Selection OWN_CERTIFICATE "own-certificate" "Nodes trust a registry's host by a certificate that the image definition brings.",
    Selection OWN_COMPONENT "own-component" "A component file, or a file of pins, of the user's own stands in the place of the program's, and states addresses or digests.",
    Selection OWN_CONFIGURATION "own-configuration" "containerd reads a part of its configuration that the image definition brings, and runs what it names.",
    Selection PAUSE_IMAGE "pause-image" "The pause image is not pinned by digest for this Kubernetes line.",
    Selection PROXY_EXCEPTIONS "proxy-exceptions" "The node's programs ask its proxy for addresses that no proxy reaches: metadata, services, or the API server.",
    Selection SCRIPTS_EXPIRE "scripts-expire" "The certificate of the signed guest scripts expires soon, and the signature has no timestamp.",
    Selection UNLISTED_RELEASE "unlisted-release" "The Kubernetes release is older than the latest known one but not listed in the catalog.",
    Verification UNPINNED "unpinned" "The artifact has no recorded digest; `imagegen lock` verifies and pins it.",
}

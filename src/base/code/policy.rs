//! Clauses of a policy that refuse an image.

use super::codes;

codes! {
    "policy clause"
    Verification POLICY_ALLOWED_BASE_IMAGES "policy-allowed-base-images" "The base image is not one that `allowedBaseImages` lists.",
    Verification POLICY_ALLOWED_HOSTS "policy-allowed-hosts" "A file comes from a host that `allowedHosts` does not list.",
    Verification POLICY_ALLOWED_PROXIES "policy-allowed-proxies" "A download goes through a proxy that `allowedProxies` does not list.",
    Verification POLICY_ALLOWED_PUBLISHERS "policy-allowed-publishers" "`allowedPublishers` does not list the signer that a component demands.",
    Verification POLICY_ALLOWED_ROOTS "policy-allowed-roots" "A signature ends in a root that `allowedRoots` does not list.",
    Verification POLICY_ALLOWED_VERSIONS "policy-allowed-versions" "`allowedVersions` does not allow the version of a component.",
    Verification POLICY_FORBIDDEN_COMPONENTS "policy-forbidden-components" "The image has a component that `forbiddenComponents` lists.",
    Verification POLICY_FORBIDDEN_ROLES "policy-forbidden-roles" "The image has something of a role that `forbiddenRoles` lists.",
    Verification POLICY_MINIMUM_CONFIDENCE "policy-minimum-confidence" "What attests the bytes is weaker than `minimumConfidence` demands.",
    Verification POLICY_REFUSE_FLOATING_BASE_IMAGE "policy-refuse-floating-base-image" "The platform chooses the base image in each build, and `refuseFloatingBaseImage` is on.",
    Verification POLICY_REFUSE_UNSUPPORTED "policy-refuse-unsupported" "The support of a Kubernetes line, Windows release or component has ended, and `refuseUnsupported` is on.",
    Verification POLICY_REQUIRE "policy-require" "A rule of `require` is not met; the message has its id.",
    Verification POLICY_REQUIRED_STEPS "policy-required-steps" "The plan lacks a step that `requiredSteps` names.",
    Verification POLICY_SIGNED_SCRIPTS "policy-signed-scripts" "A guest script is not signed as `signedScripts` demands.",
    Verification POLICY_TRUSTED_DIGESTS "policy-trusted-digests" "`trustedDigests` does not list the digest of bytes that nothing else vouches for.",
    Verification POLICY_TRUSTED_IDENTITIES "policy-trusted-identities" "An override brings a signer that `trustedIdentities` does not list.",
    Verification POLICY_TRUSTED_KEYS "policy-trusted-keys" "An override brings a key that `trustedKeys` does not list.",
    Verification POLICY_TRUSTED_PUBLISHERS "policy-trusted-publishers" "An override brings a publisher that `trustedPublishers` does not list.",
}

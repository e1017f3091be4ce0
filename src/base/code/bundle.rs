//! Reasons why a bundle is not taken.

use super::codes;

codes! {
    "bundle error"
    Verification BUNDLE_ARTIFACT_ABSENT "bundle-artifact-absent" "The bundle does not contain an artifact of its lockfile.",
    Verification BUNDLE_DIGEST "bundle-digest" "A file of the bundle does not have the digest of the index.",
    Verification BUNDLE_EXTRACT "bundle-extract" "A file of the bundle cannot be extracted.",
    Verification BUNDLE_FILE_ABSENT "bundle-file-absent" "The index names a file that the bundle does not contain.",
    Verification BUNDLE_FILE_EXTRA "bundle-file-extra" "The bundle contains a file that its index does not name.",
    Verification BUNDLE_IMAGE_ABSENT "bundle-image-absent" "The bundle neither contains a container image of its lockfile nor says that it was left out.",
    Verification BUNDLE_IMAGE_EXTRA "bundle-image-extra" "The bundle contains a container image that neither the reviewed lockfile nor the command names.",
    Verification BUNDLE_IMAGE_NAME "bundle-image-name" "Nodes would know two container images of the bundle or of its lockfile by one name.",
    Verification BUNDLE_INDEX "bundle-index" "The index of the bundle is missing or malformed.",
    Verification BUNDLE_LOCK "bundle-lock" "The lockfile of the bundle is missing or malformed.",
    Verification BUNDLE_LOCK_DIFFERS "bundle-lock-differs" "The bundle's lockfile differs from the reviewed lockfile.",
    Verification BUNDLE_OBJECT_DAMAGED "bundle-object-damaged" "A file of the store was damaged when the bundle was written.",
    Verification BUNDLE_ORIGIN "bundle-origin" "A file of the bundle claims an origin that its lockfile does not name.",
    Verification BUNDLE_SCHEMA "bundle-schema" "The bundle has another schema version.",
    Verification BUNDLE_SIZE "bundle-size" "A document of the bundle is larger than allowed.",
    Verification BUNDLE_TOOL "bundle-tool" "Packer or a plugin in the bundle is not what the lockfile and the catalog name.",
    Verification BUNDLE_UNPINNED "bundle-unpinned" "The bundle's lockfile contains an artifact without digest.",
    Verification BUNDLE_UNREADABLE "bundle-unreadable" "The bundle is not a zip file of imagegen.",
    Verification IMAGE_BLOB_ABSENT "image-blob-absent" "The bundle does not contain a layer of a container image.",
    Verification IMAGE_MANIFEST "image-manifest" "The manifest of a container image is malformed, or for another Windows.",
    Verification IMAGE_PLATFORM "image-platform" "The container image has no manifest for Windows.",
    Verification MIRROR_COLLISION "mirror-collision" "Two files of the mirror have the same path.",
    Verification MIRROR_OCCUPIED "mirror-occupied" "The mirror already has other bytes at this path.",
    Verification MIRROR_PATH "mirror-path" "A URL has no safe path in the mirror.",
}

//! Findings of `catalog lint`.

use super::codes;

codes! {
    "catalog error"
    Selection ACCOUNTS "accounts" "Nothing, or two things, make the account of a clone of the target.",
    Selection BUILD_TIME "build-time" "A variable of a target is declared in a way that its use contradicts; the message says how.",
    Selection DANGLING_REFERENCE "dangling-reference" "A file names something that the catalog does not have.",
    Selection INVENTED_DIGEST "invented-digest" "A digest looks invented, such as repeated characters.",
    Selection MISSING_RANGE "missing-range" "No entry covers a version that the catalog has.",
    Selection ORDER "order" "Entries are not in the documented order.",
    Selection OVERLAPPING_RANGES "overlapping-ranges" "Two entries cover the same version.",
    Selection PIN_WITHOUT_SOURCE "pin-without-source" "A digest has no source.",
    Selection PUBLICATION "publication" "The commands of `publication.json`, or its patterns or placeholders, cannot be used.",
    Selection SHARED_DIGEST "shared-digest" "Two versions have the same digest.",
    Selection SIGNATURE_INCOMPLETE "signature-incomplete" "A declared signature lacks what verifies it (certificate, signer, key, or checksum file), or names what is not verified with it.",
    Selection SOURCE_FORM "source-form" "A source is not a public URL, `owner/repo@tag path` or `derived: why`.",
    Selection UNREACHABLE_DEFAULT "unreachable-default" "No release or pin has the default version.",
}

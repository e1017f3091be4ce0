//! Reasons why an archive is not unpacked.

use super::codes;

codes! {
    "archive error"
    Verification ARCHIVE_COLLISION "archive-collision" "Two entries are the same file on Windows.",
    Verification ARCHIVE_CORRUPT "archive-corrupt" "The archive is damaged, encrypted, or of a form that is not read.",
    Verification ARCHIVE_DUPLICATE "archive-duplicate" "The archive contains an entry twice.",
    Verification ARCHIVE_ENTRIES "archive-entries" "The archive has too many entries.",
    Verification ARCHIVE_FOREIGN "archive-foreign" "The zip differs from what imagegen writes of the same members.",
    Verification ARCHIVE_LINK "archive-link" "An entry is a link.",
    Verification ARCHIVE_MEMBER_ABSENT "archive-member-absent" "The archive does not contain a file that the catalog uses.",
    Verification ARCHIVE_MEMBER_EMPTY "archive-member-empty" "A used entry of the archive is empty.",
    Verification ARCHIVE_MEMBER_NOT_FILE "archive-member-not-file" "A used entry is no file.",
    Verification ARCHIVE_NAME_ABSOLUTE "archive-name-absolute" "The name of an entry is absolute.",
    Verification ARCHIVE_NAME_BACKSLASH "archive-name-backslash" "The name of an entry contains a backslash.",
    Verification ARCHIVE_NAME_CHARACTERS "archive-name-characters" "The name of an entry contains characters that Windows does not allow.",
    Verification ARCHIVE_NAME_COLON "archive-name-colon" "The name of an entry contains a colon.",
    Verification ARCHIVE_NAME_ENCODING "archive-name-encoding" "The name of an entry is not ASCII, so systems could read it in more than one way.",
    Verification ARCHIVE_NAME_INVISIBLE "archive-name-invisible" "The name of an entry contains invisible characters.",
    Verification ARCHIVE_NAME_LENGTH "archive-name-length" "The name of an entry is too long.",
    Verification ARCHIVE_NAME_OPTION "archive-name-option" "The name of a used entry reads as an option of a program.",
    Verification ARCHIVE_NAME_RESERVED "archive-name-reserved" "The name of an entry is a device of Windows.",
    Verification ARCHIVE_NAME_SHORT "archive-name-short" "An entry of an archive has the form of a short (8.3) name, which Windows may have given to another file.",
    Verification ARCHIVE_NAME_TRAILING "archive-name-trailing" "The name of an entry ends with a dot or a blank.",
    Verification ARCHIVE_NAME_TRAVERSAL "archive-name-traversal" "The name of an entry leaves the folder.",
    Verification ARCHIVE_NAME_WILDCARD "archive-name-wildcard" "The name of a used entry contains a wildcard.",
    Verification ARCHIVE_RATIO "archive-ratio" "An entry expands far beyond its compressed size.",
    Verification ARCHIVE_SIZE "archive-size" "An entry is larger than allowed, or than its header states.",
    Verification ARCHIVE_SPECIAL "archive-special" "An entry is a device or another special file.",
    Verification ARCHIVE_UNREADABLE "archive-unreadable" "The archive cannot be read.",
}

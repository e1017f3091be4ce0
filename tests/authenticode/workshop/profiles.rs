//! Certificates of the workshop and their extensions.

use super::{AUTHORITY, POLICY_AUTHORITY};

/// Certificate profiles: name, issuer, subject, key, from, to, extensions.
pub(super) type Profile = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const SIGNER: &str =
    "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\n";

const STAMPER: &str = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=critical,timeStamping\n";

const RSA: &str = "rsa:2048";

const PUBLISHER: &str = "/C=RO/L=Timisoara/O=Harness, Inc./CN=Harness Publisher";

const POLICY_SIGNER: &str = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n\
    extendedKeyUsage=codeSigning\ncertificatePolicies=critical,2.5.29.32.0\n";

const POLICY_STAMPER: &str = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n\
    extendedKeyUsage=critical,timeStamping\ncertificatePolicies=critical,1.3.6.1.4.1.311.46.3\n";

/// A qualifier that no document defines.
const ODD_QUALIFIER: &str = "basicConstraints=CA:FALSE\nextendedKeyUsage=critical,timeStamping\n\
    certificatePolicies=critical,DER:3018301606092b0601040182372e033009300706032a03040500\n";

const POLICY_TWICE: &str = "basicConstraints=CA:FALSE\nextendedKeyUsage=critical,timeStamping\n\
    certificatePolicies=critical,DER:301a300b06092b0601040182372e03300b06092b0601040182372e03\n";

const POLICY_CONSTRAINED: &str = "basicConstraints=CA:FALSE\nextendedKeyUsage=critical,timeStamping\n\
    certificatePolicies=critical,1.3.6.1.4.1.311.46.3\npolicyConstraints=requireExplicitPolicy:0\n";

const OTHER_CRITICAL: &str = "basicConstraints=CA:FALSE\nextendedKeyUsage=critical,timeStamping\n\
    certificatePolicies=critical,1.3.6.1.4.1.311.46.3\n1.2.3.4=critical,DER:0500\n";

pub(super) const PROFILES: &[Profile] = &[
    (
        "root",
        "root",
        "/CN=Harness Root",
        RSA,
        "2020",
        "2045",
        AUTHORITY,
    ),
    (
        "twin-root",
        "twin-root",
        "/CN=Harness Root",
        RSA,
        "2020",
        "2045",
        AUTHORITY,
    ),
    (
        "other-root",
        "other-root",
        "/CN=Other Root",
        RSA,
        "2020",
        "2045",
        AUTHORITY,
    ),
    (
        "young-root",
        "young-root",
        "/CN=Young Root",
        RSA,
        "2025",
        "2045",
        AUTHORITY,
    ),
    (
        "authority",
        "root",
        "/CN=Harness Authority",
        RSA,
        "2020",
        "2044",
        AUTHORITY,
    ),
    ("leaf", "authority", PUBLISHER, RSA, "2021", "2043", SIGNER),
    (
        "leaf-ec",
        "authority",
        PUBLISHER,
        "ec",
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-expired",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2023",
        SIGNER,
    ),
    (
        "leaf-future",
        "authority",
        PUBLISHER,
        RSA,
        "2030",
        "2043",
        SIGNER,
    ),
    (
        "leaf-no-eku",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        "basicConstraints=CA:FALSE\n",
    ),
    (
        "leaf-server",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        "extendedKeyUsage=serverAuth\n",
    ),
    (
        "leaf-authority",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        "basicConstraints=critical,CA:TRUE\nextendedKeyUsage=codeSigning\n",
    ),
    (
        "leaf-no-sign",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        "keyUsage=critical,keyEncipherment\nextendedKeyUsage=codeSigning\n",
    ),
    (
        "leaf-lifetime",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2023",
        "keyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning,1.3.6.1.4.1.311.10.3.13\n",
    ),
    (
        "leaf-1024",
        "authority",
        PUBLISHER,
        "rsa:1024",
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-other-root",
        "other-root",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-twin",
        "twin-root",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-young",
        "young-root",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-longer",
        "authority",
        "/C=RO/L=Timisoara/O=Harness, Inc. Ltd/CN=Harness Publisher",
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-two-names",
        "authority",
        "/O=Harness, Inc./O=Evil/CN=Harness Publisher",
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "leaf-sha1",
        "authority",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        SIGNER,
    ),
    (
        "tsa",
        "authority",
        "/O=Clock/CN=Harness Time",
        RSA,
        "2020",
        "2043",
        STAMPER,
    ),
    (
        "tsa-expired",
        "authority",
        "/O=Clock/CN=Old Time",
        RSA,
        "2020",
        "2021",
        STAMPER,
    ),
    (
        "tsa-wrong",
        "authority",
        "/O=Clock/CN=Wrong Time",
        RSA,
        "2020",
        "2043",
        "extendedKeyUsage=critical,serverAuth\n",
    ),
    (
        "tsa-both",
        "authority",
        "/O=Clock/CN=Both",
        RSA,
        "2020",
        "2043",
        "keyUsage=critical,digitalSignature\nextendedKeyUsage=timeStamping,codeSigning\n",
    ),
    (
        "authority-policy",
        "root",
        "/CN=Policy Authority",
        RSA,
        "2020",
        "2044",
        POLICY_AUTHORITY,
    ),
    (
        "leaf-policy",
        "authority-policy",
        PUBLISHER,
        RSA,
        "2021",
        "2043",
        POLICY_SIGNER,
    ),
    (
        "tsa-policy",
        "authority-policy",
        "/O=Clock/CN=Policy Time",
        RSA,
        "2020",
        "2043",
        POLICY_STAMPER,
    ),
    (
        "tsa-policy-other-root",
        "other-root",
        "/O=Clock/CN=Policy Time",
        RSA,
        "2020",
        "2043",
        POLICY_STAMPER,
    ),
    (
        "tsa-policy-qualifier",
        "authority-policy",
        "/O=Clock/CN=Odd Qualifier",
        RSA,
        "2020",
        "2043",
        ODD_QUALIFIER,
    ),
    (
        "tsa-policy-twice",
        "authority-policy",
        "/O=Clock/CN=Policy Twice",
        RSA,
        "2020",
        "2043",
        POLICY_TWICE,
    ),
    (
        "tsa-policy-constrained",
        "authority-policy",
        "/O=Clock/CN=Policy Constrained",
        RSA,
        "2020",
        "2043",
        POLICY_CONSTRAINED,
    ),
    (
        "tsa-policy-critical",
        "authority-policy",
        "/O=Clock/CN=Other Critical",
        RSA,
        "2020",
        "2043",
        OTHER_CRITICAL,
    ),
    (
        "tsa-other-root",
        "other-root",
        "/O=Clock/CN=Harness Time",
        RSA,
        "2020",
        "2043",
        STAMPER,
    ),
];

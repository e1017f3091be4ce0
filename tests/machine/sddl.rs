//! Security descriptors that Windows prints otherwise: the engine would find them changed for ever.

use super::plan::Plan;

const DIRECTORY: &str = "layout/etc";
const FILE: &str = "crictl/config";

/// A resource, a text that is not canonical for its kind of object, and the reason.
const REFUSED: &[(&str, &str, &str)] = &[
    (FILE, "", "begin with the owner"),
    (FILE, "D:PAI(A;;FA;;;SY)", "begin with the owner"),
    (FILE, "O:XXG:SYD:PAI(A;;FA;;;SY)", "`XX` is not an account"),
    (
        FILE,
        "O:S-1-5G:SYD:PAI(A;;FA;;;SY)",
        "`S-1-5` is not an account",
    ),
    (FILE, "O:é", "is not an account"),
    (
        FILE,
        "O:S-1-5-32-544G:SYD:PAI(A;;FA;;;SY)",
        "prints `S-1-5-32-544` as `BA`",
    ),
    (
        FILE,
        "O:BAG:S-1-5-18D:PAI(A;;FA;;;SY)",
        "prints `S-1-5-18` as `SY`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FA;;;S-1-5-18)",
        "prints `S-1-5-18` as `SY`",
    ),
    (FILE, "O:BAD:PAI(A;;FA;;;SY)", "the group"),
    (FILE, "O:BAG:SY", "the access list"),
    (
        FILE,
        "O:BAG:SYD:P(A;;FA;;;SY)",
        "prints the flag `P` as `PAI`",
    ),
    (FILE, "O:BAG:SYD:(A;;FA;;;SY)", "neither `PAI` nor `AI`"),
    (FILE, "O:BAG:SYD:AIP(A;;FA;;;SY)", "neither `PAI` nor `AI`"),
    (FILE, "O:BAG:SYD:PAI", "grants no access"),
    (FILE, "O:BAG:SYD:PAI(A;;FA;;;SY", "no closing bracket"),
    (FILE, "O:BAG:SYD:PAI(A;;FA;;SY)", "is not `(type;"),
    (FILE, "O:BAG:SYD:PAI(Z;;FA;;;SY)", "neither allow"),
    (FILE, "O:BAG:SYD:PAI(A;;FA;;;SY)S:AI", "is not expected"),
    (FILE, "O:BAG:SYD:PAI(A;;FA;;;Users)", "is not an account"),
    (
        FILE,
        "O:BAG:SYD:PAI(A;OICI;FA;;;SY)",
        "a file has no inheritance flags",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;IO;FA;;;SY)",
        "a file has no inheritance flags",
    ),
    (
        DIRECTORY,
        "O:BAG:SYD:PAI(A;CIOI;FA;;;SY)",
        "prints `CIOI` as `OICI`",
    ),
    (DIRECTORY, "O:BAG:SYD:PAI(A;OIOI;FA;;;SY)", "are not flags"),
    (
        DIRECTORY,
        "O:BAG:SYD:PAI(A;OICIID;FA;;;SY)",
        "are not flags",
    ),
    (DIRECTORY, "O:BAG:SYD:PAI(A;OX;FA;;;SY)", "are not flags"),
    (DIRECTORY, "O:BAG:SYD:PAI(A;OIC;FA;;;SY)", "are not flags"),
    (
        DIRECTORY,
        "O:BAG:SYD:PAI(A;IO;FA;;;SY)",
        "no meaning without `OI` or `CI`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FRFX;;;SY)",
        "prints `FRFX` as `0x1200a9`",
    ),
    (FILE, "O:BAG:SYD:PAI(A;;QQ;;;SY)", "are not rights"),
    (FILE, "O:BAG:SYD:PAI(A;;;;;SY)", "are not rights"),
    (FILE, "O:BAG:SYD:PAI(A;;0xzz;;;SY)", "are not rights"),
    (FILE, "O:BAG:SYD:PAI(A;;0x0;;;SY)", "are not rights"),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;0x1f01ff;;;SY)",
        "prints `0x1f01ff` as `FA`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;0xc0000;;;SY)",
        "prints `0xc0000` as `WDWO`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;WOWD;;;SY)",
        "prints `WOWD` as `WDWO`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;0x1200A9;;;SY)",
        "prints `0x1200A9` as `0x1200a9`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FA;;;BA)(A;;FA;;;SY)",
        "`SY` must stand before that of `BA`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FA;;;BU)(A;;FA;;;BA)",
        "`BA` must stand before that of `BU`",
    ),
    (FILE, "O:BAG:SYD:PAI(A;;FA;;;SY)(D;;FW;;;BU)", "deny first"),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;WD)",
        "`WD` must stand before that of `SY`",
    ),
    (
        FILE,
        "O:BAG:SYD:PAI(A;;FR;;;SY)(A;;FW;;;SY)",
        "has two entries",
    ),
    (
        DIRECTORY,
        "O:BAG:SYD:PAI(A;OI;FA;;;SY)(A;CI;FA;;;SY)",
        "has two entries",
    ),
];

#[test]
fn refuses_what_windows_prints_otherwise() {
    for (resource, text, part) in REFUSED {
        let mut plan = Plan::good();
        plan.set(resource, "sddl", *text);
        let problems = plan.predict().problems;
        let found = problems
            .iter()
            .find(|problem| problem.code == "sddl-invalid" && problem.subject == *resource);
        let message = &found.expect(text).message;
        assert!(message.contains(part), "{text}: {message}");
    }
}

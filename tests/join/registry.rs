//! The registry of a machine as it was at one moment.

use std::collections::BTreeMap;

use super::wine::Wine;

/// Values of a key by name, as `reg.exe` writes them: `TYPE DATA`.
pub type Values = BTreeMap<String, String>;

/// Most keys of a plan are below it.
const SYSTEM: &str = r"hklm\system\currentcontrolset";

/// Milliseconds that a service has to answer, a number on Windows. Wine reads a text alone there, and gives ten seconds
/// otherwise (`load_registry_parameters` of its programs/services/services.c): too few for a kubelet on a machine with
/// much to do.
pub const SERVICE_TIME: &str = "ServicesPipeTimeout";

/// What one comparison reads. Each program that Wine starts takes a tenth of a second, so the keys below [`SYSTEM`] are
/// read by one program, and every other key once.
pub struct Registry<'a> {
    pub wine: &'a Wine,
    keys: BTreeMap<String, Values>,
}

impl<'a> Registry<'a> {
    pub fn new(wine: &'a Wine) -> Self {
        Self {
            wine,
            keys: read_trees(wine),
        }
    }

    /// Values of a key, which are none where it is not there.
    pub fn values(&mut self, key: &str) -> &Values {
        let name = name_key(key);
        let key = name.to_lowercase();
        let is_read = key.starts_with(SYSTEM);
        let values = self.keys.entry(key);
        values.or_insert_with(|| {
            if is_read {
                Values::new()
            } else {
                self.wine.values(&name)
            }
        })
    }
}

/// A key of a plan, by the name that `reg.exe` takes.
pub fn name_key(key: &str) -> String {
    key.replace("HKLM:\\", "HKLM\\")
}

/// All keys below [`SYSTEM`] by their names in lower case.
fn read_trees(wine: &Wine) -> BTreeMap<String, Values> {
    let text = wine.query(SYSTEM, &["/s"]);
    assert!(!text.is_empty(), "no answer of reg.exe");
    let mut keys: BTreeMap<String, Values> = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("HKEY_LOCAL_MACHINE\\") {
            last = format!("hklm\\{}", name.trim_end().to_lowercase());
            keys.entry(last.clone()).or_default();
        } else if let (Some((name, value)), Some(values)) = (parse_value(line), keys.get_mut(&last))
        {
            let milliseconds = value.strip_prefix("REG_SZ ").map(str::parse::<u32>);
            let value = match milliseconds {
                Some(Ok(number)) if name == SERVICE_TIME => format!("REG_DWORD 0x{number:x}"),
                _ => value,
            };
            values.insert(name, value);
        }
    }
    keys
}

/// Name and value of a line of `reg.exe`.
pub fn parse_value(line: &str) -> Option<(String, String)> {
    let mut parts = line.strip_prefix("    ")?.splitn(3, "    ");
    let name = parts.next()?.to_owned();
    let kind = parts.next()?;
    let data = parts.next().unwrap_or_default().trim_end();
    Some((name, format!("{kind} {data}")))
}

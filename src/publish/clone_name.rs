//! Random names and passwords of clones.

use crate::base::digest::encode_hex;
use crate::base::secret::Secret;
use crate::diagnostic::{Error, Result};
use crate::io::random::create_random;
use crate::model::clone_test::CloneName;

/// A random name.
pub(super) fn create_name() -> Result<CloneName> {
    let random = create_random::<4>().map_err(|error| error.to_string());
    let name = random.and_then(|random| format!("clone-{}", encode_hex(&random)).parse());
    name.map_err(|error| {
        Error::value(
            format!("a random name: {error}"),
            "give a name with `--clone`",
        )
    })
}

/// A token for the marks of one run.
pub(super) fn create_token() -> Result<String> {
    match create_random::<4>() {
        Ok(random) => Ok(encode_hex(&random)),
        Err(error) => {
            let message = format!("a random mark of the machine: {error}");
            Err(Error::value(message, "run the same again"))
        }
    }
}

/// A password that Windows takes. Nobody signs in with it.
pub(super) fn create_password() -> std::io::Result<Secret> {
    let random = create_random::<16>()?;
    Ok(Secret::new(format!("Aa1-{}", encode_hex(&random))))
}

//! Where results and lines go: straight to the user, or, for one of several images at once, kept until its turn.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::warnings::ImageWarning;
use crate::diagnostic::{InternalError, Result};

/// Output of one image, in the order in which it came.
#[derive(Debug)]
pub(super) enum KeptOutput {
    Result(String),
    /// A member of the JSON object of all images.
    Member(String),
    Line(String),
    Warning(ImageWarning),
}

/// The pieces of an image whose turn has not come.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptPieces(Arc<Mutex<Vec<KeptOutput>>>);

impl KeptPieces {
    pub(super) fn push(&self, piece: KeptOutput) {
        self.lock().push(piece);
    }

    pub(super) fn take(&self) -> Vec<KeptOutput> {
        std::mem::take(&mut *self.lock())
    }

    /// A thread that panicked while it printed leaves whole pieces.
    fn lock(&self) -> MutexGuard<'_, Vec<KeptOutput>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) enum Sink {
    #[default]
    Direct,
    /// Results and lines wait.
    Kept(KeptPieces),
    /// Results wait; lines come at once with the name of their image.
    Prefixed(String, KeptPieces),
}

impl Sink {
    pub(super) fn kept(&self) -> Option<&KeptPieces> {
        match self {
            Self::Direct => None,
            Self::Kept(pieces) | Self::Prefixed(_, pieces) => Some(pieces),
        }
    }

    pub(super) fn write_line(&self, line: String) {
        let line = match self {
            Self::Direct => line,
            Self::Kept(pieces) => return pieces.push(KeptOutput::Line(line)),
            Self::Prefixed(name, _) => {
                let lines = line.lines().map(|line| format!("{name}{line}"));
                lines.collect::<Vec<_>>().join("\n")
            }
        };
        // A closed stderr cannot be reported.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    pub(super) fn write_result(&self, output: String) -> Result<()> {
        if let Some(pieces) = self.kept() {
            pieces.push(KeptOutput::Result(output));
            return Ok(());
        }
        match io::stdout().lock().write_all(output.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(InternalError(format!("writing to stdout: {error}")).into())
            }
            _ => Ok(()),
        }
    }
}

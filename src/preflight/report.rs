//! Results of `imagegen doctor`: one line for each thing that was looked at.

use serde::Serialize;

use crate::base::code::Code;
use crate::diagnostic::{Classify, ErrorClass};

use super::ProgramCheck;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    Ok,
    Warning,
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorCheck {
    pub state: CheckState,
    /// Of the error that a build would end with.
    #[serde(skip)]
    class: ErrorClass,
    pub name: String,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Everything that was looked at, as `imagegen doctor` prints it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorOutput {
    pub schema: &'static str,
    /// Nothing is missing.
    pub ready: bool,
    pub checks: Vec<DoctorCheck>,
}

#[derive(Default)]
pub(super) struct Checks(pub(super) Vec<DoctorCheck>);

impl Checks {
    pub(super) fn ok(&mut self, name: &str, detail: impl Into<String>) {
        self.add(
            CheckState::Ok,
            ErrorClass::Internal,
            name,
            detail.into(),
            None,
        );
    }

    pub(super) fn warning(&mut self, name: &str, detail: impl Into<String>) {
        self.add(
            CheckState::Warning,
            ErrorClass::Internal,
            name,
            detail.into(),
            None,
        );
    }

    pub(super) fn missing(
        &mut self,
        class: ErrorClass,
        name: &str,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(
            CheckState::Missing,
            class,
            name,
            detail.into(),
            Some(hint.into()),
        );
    }

    pub(super) fn add_program(&mut self, program: ProgramCheck) {
        let ProgramCheck {
            name,
            found,
            purpose,
            ..
        } = program;
        if found {
            return self.ok(&name, purpose);
        }
        let hint = program_hint(&name);
        self.missing(ErrorClass::Packer, &name, purpose, hint);
    }

    fn add(
        &mut self,
        state: CheckState,
        class: ErrorClass,
        name: &str,
        detail: String,
        hint: Option<String>,
    ) {
        self.0.push(DoctorCheck {
            state,
            class,
            name: name.to_owned(),
            detail,
            hint,
        });
    }
}

/// The remedy where a program is not there.
pub fn program_hint(name: &str) -> String {
    format!("install {name}, and put its folder into PATH")
}

impl DoctorOutput {
    /// # Errors
    /// Something is missing.
    pub fn require_ready(&self) -> Result<(), NotReady> {
        let mut missing = Vec::new();
        for check in &self.checks {
            if check.state == CheckState::Missing {
                missing.push(check);
            }
        }
        let Some(first) = missing.first() else {
            return Ok(());
        };
        Err(NotReady {
            class: first.class,
            missing: missing.iter().map(|check| check.name.clone()).collect(),
            remedies: missing
                .iter()
                .filter_map(|check| check.hint.clone())
                .collect(),
        })
    }
}

/// Things that a build would miss on this machine.
#[derive(Debug, thiserror::Error)]
#[error("a build would miss: {}", .missing.join(", "))]
pub struct NotReady {
    pub class: ErrorClass,
    pub missing: Vec<String>,
    pub remedies: Vec<String>,
}

impl Classify for NotReady {
    /// That of the build, which would stop at the first thing that is missing.
    fn class(&self) -> ErrorClass {
        self.class
    }

    fn remedies(&self) -> Vec<String> {
        self.remedies.clone()
    }

    fn code(&self) -> Code {
        Code::NOT_READY
    }
}

//! The program that a service runs, directly or through a launcher, and the paths in its arguments.

use crate::windows::paths;
use crate::windows::resource::ServiceSettings;

/// A program with its arguments.
pub(super) struct CommandLine<'a> {
    pub program: &'a str,
    pub arguments: &'a [String],
}

impl<'a> CommandLine<'a> {
    /// The service's own program. If it is a launcher, such as `kube-log-runner`, its first argument after options
    /// `-NAME=VALUE` is the program. A service that is only tuned has none.
    pub(super) fn from_service(service: &'a ServiceSettings) -> Option<Self> {
        let program = service.program.as_deref()?;
        let arguments = &service.arguments;
        let is_option = |argument: &&String| argument.starts_with('-') && argument.contains('=');
        let options = arguments.iter().take_while(is_option).count();
        let launched = arguments
            .get(options)
            .filter(|argument| is_program(argument))
            .map(|_| options);
        Some(match launched {
            Some(at) => Self {
                program: &arguments[at],
                arguments: &arguments[at + 1..],
            },
            None => Self { program, arguments },
        })
    }

    pub(super) fn program_stem(&self) -> String {
        paths::file_stem(self.program)
    }

    /// Name (without dashes) and value of each flag. The word after a flag without `=` is its
    /// value, because no program here takes positional arguments.
    pub(super) fn flags(&self) -> Vec<(&'a str, Option<&'a str>)> {
        let mut flags = Vec::new();
        let mut words = self.arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let Some(name) = flag_name(word) else {
                continue;
            };
            flags.push(match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, words.next_if(|next| flag_name(next).is_none())),
            });
        }
        flags
    }

    pub(super) fn flag_value(&self, flag: &str) -> Option<&'a str> {
        self.flags()
            .into_iter()
            .find(|(name, _)| *name == flag)
            .and_then(|(_, value)| value)
    }
}

fn is_program(argument: &str) -> bool {
    !argument.starts_with('-') && argument.to_lowercase().ends_with(".exe")
}

fn flag_name(word: &str) -> Option<&str> {
    let name = word.trim_start_matches('-');
    (word.starts_with('-') && !name.is_empty()).then_some(name)
}

/// The absolute paths among a service's arguments, with the flag each belongs to.
/// The program that a launcher starts is not among them; the file with more arguments is.
pub(super) fn list_argument_paths(service: &ServiceSettings) -> Vec<(&str, &str)> {
    let program = CommandLine::from_service(service).map(|command| command.program);
    let mut named = Vec::new();
    let mut flag = "";
    for argument in &service.arguments {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, value),
            _ => (flag, argument.as_str()),
        };
        if paths::is_absolute(value) && program != Some(value) {
            named.push((name, value));
        }
        let opens = argument.starts_with('-') && !argument.contains('=');
        flag = if opens { argument } else { "" };
    }
    named.extend(
        service
            .arguments_file
            .iter()
            .map(|file| ("argumentsFile", file.path.as_str())),
    );
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(program: &str, arguments: &[&str]) -> ServiceSettings {
        let arguments = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        ServiceSettings {
            program: Some(program.parse().expect("a path")),
            arguments,
            ..ServiceSettings::default()
        }
    }

    #[test]
    fn finds_the_launched_program() {
        let service = service(
            r"C:\k\kube-log-runner.exe",
            &[
                r"--log-file=C:\log\k.log",
                r"C:\k\kubelet.exe",
                "--windows-service",
                "--v=2",
            ],
        );
        let command = CommandLine::from_service(&service).expect("a command");
        assert_eq!(command.program_stem(), "kubelet");
        assert_eq!(
            command.flags(),
            [("windows-service", None), ("v", Some("2"))]
        );
        assert_eq!(
            list_argument_paths(&service),
            [("--log-file", r"C:\log\k.log")]
        );
    }

    #[test]
    fn parses_both_spellings_of_a_flag() {
        let service = service(
            r"C:\c.exe",
            &["--run-service", "--log-file", r"C:\c.log", "-a=b=c"],
        );
        let command = CommandLine::from_service(&service).expect("a command");
        assert_eq!(
            command.flags(),
            [
                ("run-service", None),
                ("log-file", Some(r"C:\c.log")),
                ("a", Some("b=c"))
            ]
        );
        assert_eq!(list_argument_paths(&service), [("--log-file", r"C:\c.log")]);
    }
}

//! The program that a service runs, directly or through launchers, and the paths in its arguments.

use crate::windows::paths;
use crate::windows::resource::ServiceSettings;

/// A program with its arguments.
pub(super) struct CommandLine<'a> {
    /// Each starts the next; the last one starts the program.
    pub launchers: Vec<&'a str>,
    pub program: &'a str,
    pub arguments: &'a [String],
}

impl<'a> CommandLine<'a> {
    /// The service's own program, or the one that its launchers start. The first argument of a launcher, after
    /// options `-NAME=VALUE` and switches `/x`, is a program: `cmd.exe /c x.cmd`, `kube-log-runner --log-file=x y.exe`.
    /// A service that is only tuned has no program.
    pub(super) fn from_service(service: &'a ServiceSettings) -> Option<Self> {
        let mut command = Self {
            launchers: Vec::new(),
            program: service.program.as_deref()?,
            arguments: &service.arguments,
        };
        while let Some(launched) = command.find_launched() {
            command.launchers.push(command.program);
            command.program = &command.arguments[launched];
            command.arguments = &command.arguments[launched + 1..];
        }
        Some(command)
    }

    /// The place of the program among the arguments of a launcher.
    fn find_launched(&self) -> Option<usize> {
        let arguments = self.arguments.iter();
        let options = arguments.take_while(|word| is_option(word)).count();
        let word = self.arguments.get(options)?;
        is_program(word).then_some(options)
    }

    /// The launchers, then the program.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'a str> {
        let launchers = self.launchers.clone().into_iter();
        launchers.chain([self.program])
    }

    /// The batch file that starts the program.
    pub(super) fn script(&self) -> Option<&'a str> {
        self.programs()
            .find(|path| path.to_lowercase().ends_with(".cmd"))
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
    let name = argument.to_lowercase();
    let mut suffixes = [".exe", ".cmd"].iter();
    !argument.starts_with('-') && suffixes.any(|suffix| name.ends_with(suffix))
}

fn is_option(argument: &str) -> bool {
    let is_switch = argument.len() == 2 && argument.starts_with('/');
    is_switch || (argument.starts_with('-') && argument.contains('='))
}

fn flag_name(word: &str) -> Option<&str> {
    let name = word.trim_start_matches('-');
    (word.starts_with('-') && !name.is_empty()).then_some(name)
}

/// The absolute paths among a service's arguments, with the flag each belongs to.
/// The programs that launchers start are not among them.
pub(super) fn list_argument_paths(service: &ServiceSettings) -> Vec<(&str, &str)> {
    let command = CommandLine::from_service(service);
    let programs: Vec<&str> = command.iter().flat_map(CommandLine::programs).collect();
    let mut named = Vec::new();
    let mut flag = "";
    for argument in &service.arguments {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, value),
            _ => (flag, argument.as_str()),
        };
        if paths::is_absolute(value) && !programs.contains(&value) {
            named.push((name, value));
        }
        let opens = argument.starts_with('-') && !argument.contains('=');
        flag = if opens { argument } else { "" };
    }
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
    fn finds_the_program_behind_two_launchers() {
        let service = service(
            r"C:\Windows\System32\cmd.exe",
            &[
                "/d",
                "/c",
                r"C:\k\start-kubelet.cmd",
                r"C:\k\kube-log-runner.exe",
                r"--log-file=C:\log\k.log",
                r"C:\k\kubelet.exe",
                r"--config=C:\config.yaml",
            ],
        );
        let command = CommandLine::from_service(&service).expect("a command");
        assert_eq!(command.program_stem(), "kubelet");
        assert_eq!(command.script(), Some(r"C:\k\start-kubelet.cmd"));
        assert_eq!(command.programs().count(), 4);
        assert_eq!(
            list_argument_paths(&service),
            [
                ("--log-file", r"C:\log\k.log"),
                ("--config", r"C:\config.yaml")
            ]
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

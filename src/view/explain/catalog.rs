//! Names of the catalog that stand beside a plan: lines, releases, features, settings, vulnerabilities, keys.

use crate::catalog::{Keys, Trees, load_targets};
use crate::diagnostic::Result;
use crate::model::kubernetes::{KubernetesLine, NameRange};
use crate::model::plan::Plan;
use crate::model::windows::{RegistrySetting, WindowsRelease};

use super::{Explanation, NameIndex, normalize_name};

impl NameIndex {
    pub(super) fn add_pause(&mut self, plan: &Plan) {
        let lines = vec![
            "The image of the container that keeps a pod's network namespace; `--component pause=VERSION` sets its version"
                .to_owned(),
            format!("in this plan: {}", plan.pause),
        ];
        self.add(
            "container image",
            "pause",
            lines.clone(),
            &plan.line.pause.source,
        );
        self.add_as(
            &plan.pause,
            "container image",
            "pause",
            lines,
            &plan.line.pause.source,
        );
    }

    /// Settings of every Windows release.
    pub(super) fn add_settings(&mut self, plan: &Plan, trees: &Trees) -> Result<()> {
        for release in trees.catalog.windows_names() {
            let windows = trees.catalog.load_windows_release(&release)?;
            for setting in &windows.registry {
                let mut lines = describe_setting(&windows, setting);
                lines.push(format!("on Windows {release}"));
                if plan.windows.release == release {
                    lines.push("in this plan: set".to_owned());
                }
                self.add("windows setting", &setting.name, lines, &setting.source);
            }
        }
        Ok(())
    }

    pub(super) fn add_catalog(&mut self, trees: &Trees) -> Result<()> {
        let catalog = &trees.catalog;
        for minor in catalog.kubernetes_minors() {
            self.add_line(&*catalog.load_kubernetes_line(minor)?);
        }
        for name in catalog.windows_names() {
            let windows = catalog.load_windows_release(&name)?;
            let mut lines = vec![format!("{} (build {})", windows.title, windows.build)];
            lines.extend(
                windows
                    .kubernetes
                    .iter()
                    .map(|support| format!("Kubernetes {}", support.versions)),
            );
            self.add("windows release", &name, lines, &windows.source);
        }
        for feature in &catalog.load_features()?.features {
            let mut lines = vec![feature.summary.clone()];
            if !feature.reason.is_empty() {
                lines.push(feature.reason.clone());
            }
            lines.push(format!("add it with `--feature {}`", feature.name));
            self.add("feature", &feature.name, lines, &feature.source);
        }
        for target in load_targets(&trees.packer)? {
            let lines = vec![target.title.clone()];
            self.add("target", &target.name, lines, &target.source());
        }
        for group in &catalog.load_contents()?.groups {
            self.add(
                "group of components",
                &group.name,
                vec![group.reason.clone()],
                &group.source,
            );
        }
        for check in &catalog.load_cluster_index()?.checks {
            self.add(
                "conformance check",
                &check.id,
                vec![check.title.clone()],
                &check.source,
            );
        }
        for key in Keys::read_list(catalog.tree())? {
            self.add(
                "key",
                &key.name,
                vec![format!("fingerprint {}", key.fingerprint)],
                &key.source,
            );
        }
        self.add_support(trees)
    }

    fn add_line(&mut self, line: &KubernetesLine) {
        let windows: Vec<&str> = line.windows.iter().map(|it| it.value.as_str()).collect();
        let mut lines = vec![
            format!("latest release {}", line.latest),
            format!("windows {}", windows.join(", ")),
        ];
        for runtime in &line.runtimes {
            lines.push(format!("runtime {}: {}", runtime.name, runtime.reason));
        }
        for access in &line.host_access {
            lines.push(format!("host access {}: {}", access.name, access.reason));
        }

        let minor = line.minor.to_string();
        self.add("kubernetes line", &minor, lines.clone(), &line.source);
        for release in &line.patches {
            self.add_as(
                release.as_str(),
                "kubernetes line",
                &minor,
                lines.clone(),
                &line.source,
            );
        }
    }

    fn add_support(&mut self, trees: &Trees) -> Result<()> {
        let support = trees.catalog.load_support()?;
        for runtime in &support.runtimes {
            let lines = vec![format!(
                "Kubernetes {}: {}",
                runtime.kubernetes, runtime.reason
            )];
            self.add("runtime", &runtime.name, lines, &runtime.source);
        }
        for access in &support.host_access {
            let lines = vec![format!(
                "Kubernetes {}: {}",
                access.kubernetes, access.reason
            )];
            self.add("host access", &access.name, lines, &access.source);
        }
        Ok(())
    }
}

fn describe_setting(windows: &WindowsRelease, setting: &RegistrySetting) -> Vec<String> {
    let data = serde_json::to_string(&setting.data).unwrap_or_default();
    let mut lines = vec![format!("{} = {data} in {}", setting.name, setting.key)];
    lines.extend(setting.purpose.clone());
    if let (Some(month), Some(update)) = (&setting.since, windows.find_update(setting)) {
        let update = if update == month {
            String::new()
        } else {
            format!(" ({update})")
        };
        lines.push(format!(
            "read by Windows since the update of {month}{update}"
        ));
    }
    lines.extend(
        setting
            .conflict
            .as_ref()
            .map(|conflict| format!("conflict: {conflict}")),
    );
    lines
}

/// A flag, gate or configuration field of the Windows programs. The table is large, and read for a name that is
/// nothing else.
pub(super) fn find_program_name(trees: &Trees, name: &str) -> Result<Option<Vec<Explanation>>> {
    let table = trees.catalog.load_programs()?;
    let mut search = NameSearch {
        name: normalize_name(name),
        source: &table.source,
        found: Vec::new(),
    };
    for (program, flags) in &table.flags {
        for range in flags {
            search.add_range("flag", program, range);
        }
        for list in table.list_gate_lists(program) {
            for range in &list.gates {
                search.add_range("gate", program, range);
            }
            search.add_locks(&list.locked_on, "true");
            search.add_locks(&list.locked_off, "false");
        }
    }
    for (configuration, fields) in &table.configuration {
        for range in fields {
            search.add_range("field", configuration, range);
        }
    }
    let found = search.found;
    Ok((!found.is_empty()).then_some(found))
}

/// A search for one normalized name in the table of programs.
struct NameSearch<'a> {
    name: String,
    source: &'a str,
    found: Vec<Explanation>,
}

/// `1.17`, `1.17 to 1.23` or `from 1.17 on`.
fn format_lines(range: &NameRange) -> String {
    match range.until {
        Some(until) if until == range.since => until.to_string(),
        Some(until) => format!("{} to {until}", range.since),
        None => format!("from {} on", range.since),
    }
}

impl NameSearch<'_> {
    /// Adds to the gate that was found last in which lines it has one value alone.
    fn add_locks(&mut self, ranges: &[NameRange], value: &str) {
        for range in ranges {
            let is_locked = range.names.iter().any(|it| it.to_lowercase() == self.name);
            if let Some(found) = self.found.last_mut().filter(|_| is_locked) {
                let line = format!("locked to {value}: Kubernetes {}", format_lines(range));
                found.lines.insert(found.lines.len() - 1, line);
            }
        }
    }

    fn add_range(&mut self, kind: &'static str, program: &str, range: &NameRange) {
        let lines = format_lines(range);
        for known in &range.names {
            if known.to_lowercase() == self.name {
                self.found.push(Explanation {
                    kind,
                    name: known.clone(),
                    lines: vec![
                        format!("{program}: Kubernetes {lines}"),
                        "not set by imagegen".to_owned(),
                    ],
                    source: self.source.to_owned(),
                });
            }
        }
    }
}

//! What can be wrong with a node, and who notices: our own model before anything is made (cheap, always tried), or
//! the real programs, which keep the node away from the cluster and say why.

use std::path::Path;

use imagegen::catalog::Trees;
use imagegen::embedded::Tree;
use imagegen::guest::format_plan;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use crate::support::Test;

/// One mistake.
pub struct Mistake {
    pub name: &'static str,
    pub kubernetes: &'static str,
    pub made: Made,
    pub found: Found,
}

pub enum Made {
    /// In a file below `provisioners/`: this text in the place of that.
    Step {
        file: &'static str,
        right: &'static str,
        wrong: &'static str,
    },
    /// A version that the user asks for.
    Component {
        name: &'static str,
        version: &'static str,
    },
    /// An argument of `imagegen join-data`.
    JoinData(&'static str),
    /// In what `imagegen join-data` wrote.
    Configuration {
        right: &'static str,
        wrong: &'static str,
    },
    /// In the kubelet's configuration that the cluster gives to nodes.
    Cluster {
        right: &'static str,
        wrong: &'static str,
    },
    /// In the guest plan.
    Plan {
        right: &'static str,
        wrong: &'static str,
    },
    /// The pod network's add-on writes no configuration.
    NoNetwork,
}

pub enum Found {
    /// imagegen refuses it and says this.
    Refused(&'static str),
    /// imagegen cannot know it. The join fails, and kubeadm or the kubelet says this.
    Fails(&'static str),
    /// The node comes and is not Ready, saying this.
    NotReady(&'static str),
}

const KUBERNETES: &str = "steps/060-kubernetes.json";
const BEHIND: &str = "kubelet.exe\"\n            ],";

pub const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "an unknown flag in a step",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: KUBERNETES,
            right: BEHIND,
            wrong: r#"kubelet.exe", "--no-such-flag=1"],"#,
        },
        found: Found::Refused("[unknown-flag]"),
    },
    Mistake {
        name: "an unknown feature gate in a step",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: KUBERNETES,
            right: BEHIND,
            wrong: r#"kubelet.exe", "--feature-gates=NoSuchGate=true"],"#,
        },
        found: Found::Refused("[unknown-gate]"),
    },
    Mistake {
        name: "an unknown flag in the join data",
        kubernetes: "1.36.0",
        made: Made::JoinData("--kubelet-arg no-such-flag=1"),
        found: Found::Refused("[argument-unknown]"),
    },
    Mistake {
        name: "an unknown feature gate in the join data",
        kubernetes: "1.20.0",
        made: Made::JoinData("--kubelet-arg feature-gates=NoSuchGate=true"),
        found: Found::Refused("[gate-unknown]"),
    },
    Mistake {
        name: "a runtime on another pipe",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: "templates/containerd-v4.toml",
            right: r"pipe\containerd-containerd'",
            wrong: r"pipe\containerd'",
        },
        found: Found::Refused("[cri-endpoint]"),
    },
    Mistake {
        name: "a runtime on another pipe",
        kubernetes: "1.20.0",
        made: Made::Step {
            file: "templates/containerd-v2.toml",
            right: r"pipe\containerd-containerd'",
            wrong: r"pipe\containerd'",
        },
        found: Found::Refused("[cri-endpoint]"),
    },
    Mistake {
        name: "no kubelet.exe",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: KUBERNETES,
            right: r#""into": "{{ paths.kubernetes }}""#,
            wrong: r#""into": "{{ paths.log }}""#,
        },
        found: Found::Refused("[service-program-missing]"),
    },
    Mistake {
        name: "a runtime that is too old",
        kubernetes: "1.36.0",
        made: Made::Component {
            name: "containerd",
            version: "1.6.36",
        },
        found: Found::Refused("component-range"),
    },
    Mistake {
        name: "another CRI socket",
        kubernetes: "1.36.0",
        made: Made::Configuration {
            right: "/pipe/containerd-containerd",
            wrong: "/pipe/dockershim",
        },
        found: Found::Fails("//./pipe/dockershim"),
    },
    Mistake {
        name: r"C:\k is not in PATH",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: KUBERNETES,
            right: r#""entry": "{{ paths.kubernetes }}""#,
            wrong: r#""entry": "{{ paths.containerd }}""#,
        },
        found: Found::Fails("executable file not found in %PATH%"),
    },
    Mistake {
        name: "no service for the kubelet",
        kubernetes: "1.36.0",
        made: Made::Step {
            file: KUBERNETES,
            right: r#""kubernetes": ">=1.26.0", "component": ["!nssm|template-tools"]"#,
            wrong: r#""kubernetes": ">=9.0.0", "component": ["!nssm|template-tools"]"#,
        },
        found: Found::Fails("Couldn't detect a kubelet service"),
    },
    Mistake {
        name: "another client CA",
        kubernetes: "1.36.0",
        made: Made::Cluster {
            right: "/pki/ca.crt",
            wrong: "/pki/other.crt",
        },
        found: Found::Fails(r"pki\\other.crt: File not found"),
    },
    Mistake {
        name: "a link to another folder than that of the client CA",
        kubernetes: "1.20.0",
        made: Made::Step {
            file: "steps/030-directories.json",
            right: r#""target": "{{ item.target }}""#,
            wrong: r#""target": "{{ paths.log }}""#,
        },
        found: Found::Fails("unable to load client CA file"),
    },
    Mistake {
        name: "no CNI configuration",
        kubernetes: "1.20.0",
        made: Made::NoNetwork,
        found: Found::NotReady("cni config uninitialized"),
    },
    // kubernetes/kubernetes#97759: the cluster's own kubeadm writes `cgroupDriver: systemd` for nodes.
    Mistake {
        name: "no driver for a kubelet that compares it with Docker's",
        kubernetes: "1.20.0",
        made: Made::Plan {
            right: " --cgroup-driver=cgroupfs",
            wrong: "",
        },
        found: Found::Fails("misconfiguration: kubelet cgroup driver: \"systemd\""),
    },
    Mistake {
        name: "crictl's name of Docker in the place of kubeadm's",
        kubernetes: "1.20.0",
        made: Made::Configuration {
            right: "/pipe/docker_engine",
            wrong: "/pipe/dockershim",
        },
        found: Found::Fails("crictl is required for container runtime"),
    },
];

impl Mistake {
    /// Whether only the real programs can notice it.
    pub fn is_for_the_join(&self) -> bool {
        !matches!(self.found, Found::Refused(_))
    }

    fn needs_containerd(&self) -> bool {
        matches!(self.made, Made::Step { file, .. } if file.contains("containerd"))
    }
}

/// The trees with the mistake in them.
fn mistaken(made: &Made) -> Trees {
    let mut trees = read_trees(None).expect("the catalog");
    if let Made::Step { file, right, wrong } = made {
        let mut files = Tree::embedded_provisioners().files();
        let text = String::from_utf8(files[*file].clone()).unwrap();
        assert!(text.contains(right), "{file} has no {right}");
        files.insert((*file).to_owned(), text.replace(right, wrong).into_bytes());
        trees.provisioners = Tree::from_files("provisioners".to_owned(), files);
    }
    trees
}

fn definition(mistake: &Mistake, overrides: &Value) -> ImageDefinition {
    let mut definition =
        json!({"target": "azure", "kubernetes": mistake.kubernetes, "overrides": overrides});
    // The default of 1.20 is Docker.
    if mistake.kubernetes != "1.20.0" || mistake.needs_containerd() {
        definition["hostAccess"] = "services".into();
        definition["runtime"] = "containerd".into();
        definition["cni"] = "none".into();
    }
    if mistake.kubernetes == "1.20.0" {
        definition["components"]["nssm"] = "2.24".into();
    }
    if let Made::Component { name, version } = &mistake.made {
        definition["components"][*name] = (*version).into();
    }
    serde_json::from_value(definition).unwrap()
}

/// The guest plan with the mistake in it, or why there is none.
pub fn guest_plan(mistake: &Mistake, overrides: &Value) -> imagegen::diagnostic::Result<Value> {
    let trees = mistaken(&mistake.made);
    let plan = resolve_plan(&definition(mistake, overrides), &trees)?;
    let (guest, _) = predict_machine(&plan, &trees)?;
    let mut text = format_plan(&guest.plan);
    if let Made::Plan { right, wrong } = &mistake.made {
        assert!(text.contains(right), "the plan has no {right}");
        text = text.replace(right, wrong);
    }
    Ok(serde_json::from_str(&text).unwrap())
}

/// The overrides that the mirror wrote.
pub fn overrides(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("overrides.json")).unwrap()).unwrap()
}

#[test]
fn each_mistake_is_refused_or_is_one_for_the_join() {
    let hash = format!("--ca-cert-hash sha256:{}", "a".repeat(64));
    for mistake in MISTAKES {
        let name = format!("{} ({})", mistake.name, mistake.kubernetes);
        if let (Made::JoinData(line), Found::Refused(said)) = (&mistake.made, &mistake.found) {
            let data = format!("join-data --endpoint 10.0.0.1:6443 {hash} --token-env JOIN_TOKEN");
            let test = Test::new().env("JOIN_TOKEN", super::TOKEN).line(&data);
            test.line(&format!("--k8s {} {line}", mistake.kubernetes))
                .fails(3, &[said]);
            continue;
        }
        match (guest_plan(mistake, &json!({})), &mistake.found) {
            (Err(error), Found::Refused(said)) => {
                let told = format!("{error:#}");
                assert!(told.contains(said), "{name}: {told}");
            }
            (Err(error), _) => panic!("{name} needs no join to be found: {error:#}"),
            (Ok(_), Found::Refused(_)) => panic!("{name} is not refused"),
            (Ok(_), _) => {}
        }
    }
}

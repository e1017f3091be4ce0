//! The batch file that starts a service with the arguments of a file, with a program that writes its words.

use regex_lite::{Captures, Regex};

use super::guest_script;
use super::machine::{Machine, Ran};

/// A file of arguments, and the words that the program gets.
type Row = (&'static str, &'static str);

/// Values are words of the program as the file has them.
const FLAGS: &[Row] = &[
    ("SERVICE_ARGS=\"\"\n", "--own=1"),
    (
        "SERVICE_ARGS=\"--a=b --older=1 --c=\"\r\n",
        "--own=1 --a=b --c=",
    ),
    (
        "SERVICE_ARGS=\"--a=1&2|3<4>5^6(7) --b=C:\\\\x\\\\y --c=k=v:NoSchedule,l=\"\n",
        r"--own=1 --a=1&2|3<4>5^6(7) --b=C:\x\y --c=k=v:NoSchedule,l=",
    ),
    // Quotation marks of templates for Linux are no part of a value.
    (
        "SERVICE_ARGS=\"--provider-id=cloud:///'i-1' --a=\\\"b=c\\\" --d=C:\\\\x\\\\\"\n",
        r"--own=1 --provider-id=cloud:///i-1 --a=b=c --d=C:\x\",
    ),
    ("SERVICE_ARGS=\"''\"\n", "--own=1"),
    // For Docker kubeadm writes a pause image of its own, and what stands last on a command line wins.
    (
        "SERVICE_ARGS=\"--network-plugin=cni --pod-infra-container-image=k8s.gcr.io/pause:1.4.0 --v=2\"\n",
        "--own=1 --network-plugin=cni --v=2",
    ),
    ("OTHER=\"--a\"\n", "--own=1"),
    // What other hands than kubeadm's may leave around the line.
    ("\u{feff}SERVICE_ARGS=\"--a=b\"\n", "--own=1 --a=b"),
    ("  SERVICE_ARGS=\"--a=b\"\n", "--own=1 --a=b"),
    ("export SERVICE_ARGS=\"--a=b\"\n", "--own=1 --a=b"),
    ("SERVICE_ARGS=\"--a=b\" \n", "--own=1 --a=b"),
    ("# of a hand\nSERVICE_ARGS=\"--a=b\"\n", "--own=1 --a=b"),
    ("SERVICE_ARGS=\" \"\n", "--own=1"),
    ("SERVICE_ARGS=\"\t \"\n", "--own=1"),
    ("SERVICE_ARGS=\" --a=b  \"\n", "--own=1 --a=b"),
    // The kubelet adds the taint of an external cloud provider by itself, and only of such a one.
    (
        "SERVICE_ARGS=\"--cloud-provider=external --register-with-taints=node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule --v=2\"\n",
        "--own=1 --cloud-provider=external --v=2",
    ),
    (
        "SERVICE_ARGS=\"--cloud-provider=external --register-with-taints=a=b:NoExecute,node.cloudprovider.kubernetes.io/uninitialized:NoSchedule,c:NoSchedule\"\n",
        "--own=1 --cloud-provider=external --register-with-taints=a=b:NoExecute,c:NoSchedule",
    ),
    // Whichever of the two comes first: kubeadm writes taints of its own before the arguments of a template.
    (
        "SERVICE_ARGS=\"--register-with-taints=node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule --cloud-provider=external --v=2\"\n",
        "--own=1 --cloud-provider=external --v=2",
    ),
    (
        "SERVICE_ARGS=\"--cloud-provider=external --register-with-taints= --v=2\"\n",
        "--own=1 --cloud-provider=external --register-with-taints= --v=2",
    ),
    (
        "SERVICE_ARGS=\"--cloud-provider= --register-with-taints=node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule\"\n",
        "--own=1 --cloud-provider= --register-with-taints=node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
    ),
    // A list that is none ends as it came, and does not hold up the start.
    (
        "SERVICE_ARGS=\"--cloud-provider=external --register-with-taints=, --v=2\"\n",
        "--own=1 --cloud-provider=external --register-with-taints=, --v=2",
    ),
];

/// Gates that the program no longer knows are left out; of the others, and of what is none, the program judges.
const GATES: &[Row] = &[
    (
        "SERVICE_ARGS=\"--feature-gates=Old=true --v=2\"\n",
        "--own=1 --v=2",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates=A=true,Old=true,B=false,Older=false,Kept=true\"\n",
        "--own=1 --feature-gates=A=true,B=false,Kept=true",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates=Older=false,A=true --feature-gates=Old=true --v=2\"\n",
        "--own=1 --feature-gates=A=true --v=2",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates=OlderGate=true,old=1\"\n",
        "--own=1 --feature-gates=OlderGate=true,old=1",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates= --v=2\"\n",
        "--own=1 --feature-gates= --v=2",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates --v=2\"\n",
        "--own=1 --feature-gates --v=2",
    ),
    (
        "SERVICE_ARGS=\"--feature-gates=Old=true,;A=true --v=2\"\n",
        "--own=1 --feature-gates=;A=true --v=2",
    ),
];

/// The template for a service whose program writes its words to a file.
fn format_launcher() -> String {
    let template = guest_script("templates/start-service.cmd");
    let loops = Regex::new(r"(?s)\{%- for (\w+) in item\.(\w+) %\}(.*?)\{%- endfor %\}").unwrap();
    let text = loops.replace_all(&template, |found: &Captures| match &found[2] {
        "removed" => repeat_group(&found[3]),
        _ => found[3].to_owned(),
    });
    let conditions = Regex::new(r"(?s)\{%-? if .*?\{%-? endif %\}").unwrap();
    let text = conditions.replace_all(&text, "").into_owned();
    [
        ("{{ item.name }}.exe --version", "native.exe words a.5"),
        ("{{ item.name }}", "service"),
        ("{{ item.file }}", r"C:\launch\flags.env"),
        ("{{ item.ready }}", r"C:\launch\ready"),
        ("{{ item.variable }}", "SERVICE_ARGS"),
        ("{{ link.path }}", r"C:\launch\own folder\etc\pki"),
        ("{{ link.folder }}", r"C:\launch\own folder\etc"),
        ("{{ link.target }}", r"C:\launch\service"),
        ("{{ paths.kubernetes }}", r"C:"),
        ("{{ paths.log }}", r"C:\launch"),
    ]
    .iter()
    .fold(text, |text, (tag, value)| text.replace(tag, value))
}

/// The line of a loop over groups, for two of them.
fn repeat_group(body: &str) -> String {
    let groups = [("1", "--old --older Old Older"), ("5", "--kept Kept")];
    let lines = groups.map(|(minor, names)| {
        let line = body.replace("{{ group.minor }}", minor);
        line.replace("{{ group.names }}", names)
    });
    lines.concat()
}

/// Words of the service before `service.exe`, and those that the first program gets of it with its own and old flags.
/// `old` is a flag of the program that keeps the log, as `--log-file` of `kube-log-runner.exe` is.
const RUNNERS: &[(&[&str], &str)] = &[
    (&[], "--own=1 --v=2"),
    (
        &[
            r"C:\native.exe",
            "words",
            r"--old=C:\log\service.log",
            "--feature-gates=Old=true",
        ],
        r"--old=C:\log\service.log --feature-gates=Old=true C:\launch\service.exe words --own=1 --v=2",
    ),
    (
        &[r"C:\native.exe", "words", "--kept", "5s", "-older=true"],
        r"--kept 5s -older=true C:\launch\service.exe words --own=1 --v=2",
    ),
];

/// The pause image of the service's own words stays.
const PAUSE: &str = "--pod-infra-container-image=registry.k8s.io/pause:3.6";

/// Starts the launcher for a service with these words before those of `service.exe`.
fn start_service(machine: &Machine, runner: &[&str]) -> Ran {
    let service = [r"C:\launch\service.exe", "words", "--own=1", "--old=2"];
    let words = [&["/d", "/c", r"C:\start.cmd"][..], runner, &service].concat();
    machine.run("cmd", &words)
}

/// Values are words of the program as the file has them, old flags are left out, and without `ready` nothing runs.
pub(super) fn launch_with_file(machine: &Machine) {
    let text = format_launcher();
    assert!(!text.contains("{{") && !text.contains("{%"), "{text}");
    std::fs::create_dir_all(machine.path(r"C:\launch\service")).unwrap();
    machine.write(r"C:\start.cmd", text);
    let service = machine.path(r"C:\launch\service.exe");
    std::fs::copy(machine.path(r"C:\native.exe"), service).unwrap();
    let ran = start_service(machine, &[]);
    assert_eq!((ran.code, ran.text.as_str()), (0, ""));

    machine.write(r"C:\launch\ready", "");
    for (file, words) in FLAGS.iter().chain(GATES) {
        machine.write(r"C:\launch\flags.env", file);
        let ran = start_service(machine, &[]);
        let given = ran.text.trim_end().replace('\u{1}', " ");
        assert_eq!((ran.code, given.as_str()), (0, *words), "{file}");
    }
    let log = machine.read(r"C:\launch\service\start.log");
    assert!(log.contains("left out \"--old\""), "{log}");
    let lost = log.matches(r"no SERVICE_ARGS in C:\launch\flags.env");
    assert_eq!(lost.count(), 1, "{log}");
    for gate in ["Old=true", "Older=false"] {
        let line = format!("left out \"--feature-gates\" \"{gate}\"");
        assert!(log.contains(&line), "{log}");
    }
    machine.write(r"C:\launch\flags.env", "SERVICE_ARGS=\"--older=1 --v=2\"\n");
    for (runner, words) in RUNNERS {
        let ran = start_service(machine, runner);
        let given = ran.text.trim_end().replace('\u{1}', " ");
        assert_eq!((ran.code, given.as_str()), (0, *words), "{runner:?}");
    }
    machine.write(
        r"C:\launch\flags.env",
        "SERVICE_ARGS=\"--pod-infra-container-image=x\"\n",
    );
    let words = [
        "/d",
        "/c",
        r"C:\start.cmd",
        r"C:\launch\service.exe",
        "words",
        PAUSE,
    ];
    let ran = machine.run("cmd", &words);
    assert_eq!((ran.code, ran.text.trim_end()), (0, PAUSE));
    // A reset took the link away, and the next start makes it anew: its folder, because Wine's mklink makes no link.
    let folder = machine.path(r"C:\launch\own folder");
    assert!(folder.join("etc").is_dir(), "{}", folder.display());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(start_service(machine, &[]).code, 0);
    assert!(folder.join("etc").is_dir(), "{}", folder.display());
}

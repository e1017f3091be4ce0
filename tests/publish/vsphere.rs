//! The real `govc` against govmomi's simulated vCenter Server, in a network of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Build;
use crate::bake::simulation;
use crate::cloudbase::{run, write_settings};
use crate::support::powershell::judge_powershell;
use crate::support::{Test, needs, root};

/// Templates with the notes that Packer writes, and others with the same names.
const SETUP: &str = r#"set -eu
made=0
make() {
    made=$((made + 1))
    govc vm.create -on=false -host DC0_H0 -ds LocalDS_0 -net 'VM Network' -annotation "$3" -folder "$1" "new-$made" >/dev/null
    govc object.rename "$1/new-$made" "$2"
    govc vm.markastemplate "$1/$2"
}
state() {
    govc find /DC0/vm -type m -type f | sort > "$1"
    for path in /DC0/vm/templates/node-1 /DC0/vm/templates/node-4 /DC0/vm/other/node-1; do
        govc fields.info -n imagegen-channel "$path" >> "$1" || true
    done
    sed -i 's/ \+imagegen-channel \+/ = /' "$1"
}
fails() {
    code=0
    "$@" > "$name.out" 2> "$name.err" || code=$?
    echo "$code" > "$name.code"
}
notes='{"imagegen-kubernetes":"1.36.0","imagegen-lock":"0000000000000000000000000000000000000000000000000000000000000000"}'
govc folder.create /DC0/vm/templates /DC0/vm/other '/DC0/vm/Old images' >/dev/null
for number in 1 2 3 4; do make /DC0/vm/templates "node-$number" "$notes"; done
make /DC0/vm/templates node-5 '{"imagegen-lock":"of another image"}'
make /DC0/vm/other node-1 "$notes"
make '/DC0/vm/Old images' node-1 "$notes"
# Paths need no datacenter besides.
govc datacenter.create DC1
folder='--var folder=/DC0/vm/templates'
"#;

const STEPS: &str = r"
state before
# A record of another folder, which does not know what becomes of the image.
cp imagegen-out/node/builds/1/image.json first.json
imagegen promote 4 $folder > promote.sh
imagegen retire --keep 2 $folder > retire.sh
imagegen retire --keep 2 --delete $folder > delete.sh
state printed
imagegen promote 4 $folder --run
imagegen promote 4 $folder --run
imagegen retire 1 $folder --run
imagegen retire 1 $folder --run
state retired
imagegen promote 1 --channel canary $folder --run
sh -e promote.sh
state promoted
imagegen retire --keep 2 --delete $folder --run
imagegen retire first.json --delete $folder --run --format json > again.json
imagegen retire 1 $folder --run
state deleted
imagegen retire first.json --var 'folder=/DC0/vm/Old images' --delete > spaces.sh
sh -e spaces.sh
state spaces
";

const REFUSED: &str = r"
govc fields.add -type VirtualMachine imagegen-channel >/dev/null
state before
name=folder; fails imagegen retire 1 --var folder=/DC0/vm/nope --delete --run
name=promote; fails imagegen promote 3 --var folder=/DC0/vm/other --run
name=other; fails imagegen retire 5 --delete $folder --run
imagegen retire 5 --delete $folder > other.sh
name=printed; fails sh -e other.sh
name=away; fails imagegen retire 3 --var folder=/DC0/vm/other --delete --run
state after
";

const LIBRARY: &str = r#"
for number in 1 2; do
    echo disc > "node-$number.iso"
    govc library.import images "node-$number.iso" >/dev/null
done
govc library.update -d "$notes" /images/node-1
govc library.update -d '{"imagegen-lock":"of another image"}' /images/node-2
govc library.create -dc DC0 -ds LocalDS_0 others >/dev/null
govc library.import others node-1.iso >/dev/null
items() { govc library.ls '/*/*' | sort > "$1"; }
items before
imagegen retire 1 --delete --var library=images > delete.sh
cp imagegen-out/node/builds/1/image.json first.json
name=wrong; fails imagegen retire 1 --delete --var library=nope --run
name=other; fails imagegen retire 2 --delete --var library=images --run
items refused
imagegen retire 1 --delete --var library=images --run
imagegen retire first.json --delete --var library=images --run --format json > again.json
items deleted
govc library.import images node-1.iso >/dev/null
govc library.update -d "$notes" /images/node-1
sh -e delete.sh
items printed
"#;

/// The guest answers when its machine is powered on: this `govc` plays it after the real one.
const CLONES: &str = r#"
real=$(command -v govc)
mkdir bin
cat > bin/govc <<PROGRAM
#!/bin/sh
"$real" "\$@" || exit
case "\$1 \$2" in "vm.power -on")
    "$real" object.collect -json -s "\$3" config.extraConfig > extra.json
    "$real" vm.change -vm "\$3" -e guestinfo.imagegen-clone-lines='seen; changed' \
        -e guestinfo.imagegen-clone-test="\$(cat verdict)" ;;
esac
PROGRAM
chmod +x bin/govc
PATH=$PWD/bin:$PATH
place="$folder --var datacenter=DC0 --var pool=/DC0/host/DC0_H0/Resources --var datastore=LocalDS_0"
state before
echo 0 > verdict
name=good; fails imagegen test-clone 1 --clone c-1 $place --run
echo 8 > verdict
name=drifted; fails imagegen test-clone 1 $place --run
state after
# A machine that is none of the tests, and a template.
govc vm.create -dc DC0 -on=false -host DC0_H0 -ds LocalDS_0 -net 'VM Network' -folder /DC0/vm/templates \
    imagegen-clone-c-2 >/dev/null
govc folder.create /DC0/vm/templates/imagegen-clone-c-5
govc object.mv /DC0/vm/templates/node-3 /DC0/vm/templates/imagegen-clone-c-5
# A machine of the name without the mark.
govc folder.create /DC0/vm/templates/imagegen-clone-c-7
govc vm.create -dc DC0 -on=false -host DC0_H0 -ds LocalDS_0 -net 'VM Network' \
    -folder /DC0/vm/templates/imagegen-clone-c-7 c-7 >/dev/null
state before-others
for clone in c-2 c-5 c-7; do
    name=$clone; fails imagegen test-clone 1 --clone "$clone" $place --run
    imagegen test-clone 1 --clone "$clone" $place --delete --run
    imagegen test-clone 1 --clone "$clone" $place --delete > delete.sh
    bash delete.sh || true
done
imagegen test-clone 1 --clone c-3 $place --delete --run
imagegen test-clone 1 --clone c-3 $place --delete > delete.sh
bash delete.sh || true
state after-others
# A verb that was killed leaves its machine, or the folder alone.
govc folder.create /DC0/vm/templates/imagegen-clone-c-8
imagegen test-clone 1 --clone c-8 $place --delete --run
for clone in c-4 c-6; do
    govc folder.create "/DC0/vm/templates/imagegen-clone-$clone"
    govc vm.clone -dc DC0 -vm /DC0/vm/templates/node-1 -on=false -folder "/DC0/vm/templates/imagegen-clone-$clone" \
        -pool /DC0/host/DC0_H0/Resources -ds LocalDS_0 -annotation imagegen-test-clone=1 "$clone" >/dev/null
done
imagegen test-clone 1 --clone c-4 $place --delete --run
imagegen test-clone 1 --clone c-6 $place --delete > delete.sh
bash delete.sh
state after-kill
"#;

/// Runs lines of a shell beside the simulated vCenter Server. The programs are absent: nothing.
fn run_with_vcenter(test: &Test, lines: &str) -> Option<()> {
    simulation()?;
    let vcsim = needs("IMAGEGEN_TEST_VCSIM", "govmomi's simulator")?;
    let govc = needs("IMAGEGEN_TEST_GOVC", "govc")?;
    let imagegen = PathBuf::from(env!("CARGO_BIN_EXE_imagegen"));
    let folder = |program: &Path| program.parent().expect("folder").display().to_string();
    let path = format!(
        "{}:{}:/usr/bin:/bin:/usr/sbin:/sbin",
        folder(&govc),
        folder(&imagegen)
    );

    let machine = test.folder.join("machine");
    let vcenter = format!("{} -out {}", vcsim.display(), machine.display());
    let output = Command::new("python3")
        .arg(root().join("tests/support/fakes/stage.py"))
        .arg("--workdir")
        .arg(&machine)
        .args(["--service", &vcenter, "--", "sh", "-c"])
        .arg(format!("{SETUP}{lines}"))
        .current_dir(&test.folder)
        .env("HOME", &test.folder)
        .env("PATH", path)
        .env("GOVC_URL", "https://127.0.0.1:8989")
        .env("GOVC_USERNAME", "user")
        .env("GOVC_PASSWORD", "invented-vcenter-password")
        .env("GOVC_INSECURE", "1")
        .output()
        .expect("python3 starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(())
}

/// Builds whose templates are named `node-1` and so on.
fn with_templates(count: usize) -> Test {
    (1..=count).fold(Test::new(), |test, number| {
        let build = Build {
            version: &number.to_string(),
            day: &format!("2020-01-0{number}"),
            target: "vsphere",
            id: &format!("node-{number}"),
            ..Build::default()
        };
        build.write(test, "imagegen-out/node")
    })
}

/// Paths of machines, then their channels.
fn list_lines(test: &Test, name: &str) -> Vec<String> {
    test.text(name).lines().map(str::to_owned).collect()
}

fn assert_failed(test: &Test, name: &str, code: &str, parts: &[&str]) {
    let said = test.text(&format!("{name}.err"));
    assert_eq!(test.text(&format!("{name}.code")).trim(), code, "{said}");
    for part in parts {
        assert!(said.contains(part), "{name}: no {part} in {said}");
    }
}

#[test]
fn the_real_program_promotes_retires_and_deletes_templates() {
    let test = with_templates(4);
    if run_with_vcenter(&test, STEPS).is_none() {
        return;
    }
    let before = list_lines(&test, "before");
    assert_eq!(list_lines(&test, "printed"), before, "nothing runs unasked");
    let channels = |lines: &[&str]| {
        let lines = lines.iter().map(|line| (*line).to_owned());
        before.iter().cloned().chain(lines).collect::<Vec<_>>()
    };
    let retired = [
        "/DC0/vm/templates/node-1 = retired",
        "/DC0/vm/templates/node-4 = stable",
    ];
    assert_eq!(list_lines(&test, "retired"), channels(&retired));
    let promoted = [
        "/DC0/vm/templates/node-1 = canary",
        "/DC0/vm/templates/node-4 = stable",
    ];
    assert_eq!(list_lines(&test, "promoted"), channels(&promoted));

    let mut left = before.clone();
    left.retain(|path| {
        !["1", "2"]
            .iter()
            .any(|it| *path == format!("/DC0/vm/templates/node-{it}"))
    });
    assert_eq!(left.len() + 2, before.len());
    left.push("/DC0/vm/templates/node-4 = stable".to_owned());
    assert_eq!(list_lines(&test, "deleted"), left);
    left.retain(|path| path != "/DC0/vm/Old images/node-1");
    assert_eq!(list_lines(&test, "spaces"), left);

    let again: Value = serde_json::from_str(&test.text("again.json")).expect("JSON");
    for image in again["images"].as_array().expect("images") {
        let states: Vec<&Value> = image["commands"]
            .as_array()
            .expect("commands")
            .iter()
            .map(|command| &command["state"])
            .collect();
        assert_eq!(states, ["done", "notFound", "already"], "{again}");
    }
}

/// A folder that does not exist, and templates of other builds: the error names them, and nothing is touched.
#[test]
fn the_real_program_touches_no_other_template() {
    let test = with_templates(5);
    if run_with_vcenter(&test, REFUSED).is_none() {
        return;
    }
    assert_eq!(list_lines(&test, "after"), list_lines(&test, "before"));
    assert_failed(&test, "folder", "7", &["folder '/DC0/vm/nope' not found"]);
    assert_failed(&test, "promote", "7", &["/DC0/vm/other/node-3 not found"]);
    let other = [
        "has no `\"imagegen-lock\":\"0000",
        "the template is another one",
    ];
    assert_failed(&test, "other", "7", &other);
    assert_failed(&test, "printed", "1", &[]);
    let away = ["/DC0/vm/other/node-3 not found: or the template is in another folder"];
    assert_failed(&test, "away", "0", &away);
}

#[test]
fn the_real_program_deletes_items_of_a_content_library() {
    let test = with_templates(2);
    if run_with_vcenter(&test, LIBRARY).is_none() {
        return;
    }
    assert_failed(&test, "wrong", "7", &["there is no such content library"]);
    assert_failed(&test, "other", "7", &["the item is another one"]);
    let before = ["/images/node-1", "/images/node-2", "/others/node-1"];
    assert_eq!(list_lines(&test, "before"), before);
    assert_eq!(list_lines(&test, "refused"), before);
    assert_eq!(list_lines(&test, "deleted"), before[1..]);
    assert_eq!(list_lines(&test, "printed"), before[1..]);
    let again: Value = serde_json::from_str(&test.text("again.json")).expect("JSON");
    let commands = &again["images"][0]["commands"];
    assert_eq!(commands[1]["state"], json!("already"), "{again}");
    assert_eq!(commands[2]["state"], json!("already"), "{again}");
}

#[track_caller]
fn assert_refused(test: &Test, line: &str, parts: &[&str]) {
    let ran = test.bare().run(line);
    assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "no {part} in {}", ran.stderr);
    }
}

#[test]
fn the_real_program_tests_a_clone_and_deletes_it() {
    let test = with_templates(1);
    if run_with_vcenter(&test, CLONES).is_none() {
        return;
    }
    assert_failed(&test, "good", "0", &["deleting c-1"]);
    let drifted = ["its test ended with 8", "seen; changed"];
    assert_failed(&test, "drifted", "8", &drifted);
    assert_eq!(list_lines(&test, "after"), list_lines(&test, "before"));
    let there = list_lines(&test, "before-others");
    assert_eq!(list_lines(&test, "after-others"), there);
    assert_eq!(list_lines(&test, "after-kill"), there);
    for clone in ["c-2", "c-5", "c-7"] {
        assert_failed(
            &test,
            clone,
            "7",
            &["no machine was made, and nothing of another run is deleted"],
        );
    }

    let script = read_user_data(&test);
    judge_powershell(&[&script]);
    let Some(environments) = crate::cloudbase::environments() else {
        return;
    };
    let settings = write_settings(&test.folder, "[DEFAULT]\n");
    let user_data = test.folder.join("user-data");
    std::fs::write(&user_data, &script).expect("written");
    let told = run(&environments.join("1.1.9"), &settings, Some(&user_data));
    let ran = json!(["powershell", script, true]);
    let calls = told["calls"].as_array().expect("calls");
    assert!(calls.contains(&ran), "{told}");
}

/// The user-data that the machine had when it was powered on.
fn read_user_data(test: &Test) -> String {
    let options: Value = serde_json::from_str(&test.text("extra.json")).expect("JSON");
    let find = |key: &str| {
        let options = options.as_array().expect("options");
        let option = options.iter().find(|it| it["key"] == key);
        let value = option.and_then(|it| it["value"].as_str());
        value
            .unwrap_or_else(|| panic!("no {key} in {options:?}"))
            .to_owned()
    };
    assert_eq!(find("guestinfo.userdata.encoding"), "base64");
    let bytes = STANDARD.decode(find("guestinfo.userdata")).expect("base64");
    let script = String::from_utf8(bytes).expect("UTF-8");
    assert!(
        script.starts_with("#ps1_sysnative\n$test = @'\n$code = 1\n"),
        "{script}"
    );
    assert!(
        script.contains(r"C:\imagegen\node\Test-Node.ps1"),
        "{script}"
    );
    script
}

/// The record has the name alone: the user says where the image is, once.
#[test]
fn a_name_needs_its_place() {
    let test = with_templates(1);
    let parts = [
        "`node-1` is the name of a template or an item of a content library",
        "hint: give one place: `--var folder=…` or `--var library=…`",
    ];
    assert_refused(&test, "promote 1", &parts);
    let both = "promote 1 --var folder=/DC0/vm --var library=images";
    assert_refused(&test, both, &["give one place"]);
    let by_hand = ["no item as promoted", "govc library.cp"];
    assert_refused(&test, "promote 1 --var library=images", &by_hand);
    for folder in [
        "/DC0/vm/*",
        "/DC0/vm/..",
        "/DC0/vm/a/../b",
        "/DC0/vm/...",
        "/DC0/vm/[a]",
        "/DC0/vm/",
        "/vm",
        "vm/a",
        "/DC0/host/a",
        "/DC0/vm/Folder:group-v3",
    ] {
        let line = format!("retire 1 --delete --var folder={folder}");
        assert_refused(&test, &line, &["is not valid"]);
    }
}

/// Pasted into a shell, a template of another build stays, too.
#[test]
fn printed_commands_depend_on_the_notes() {
    let test = with_templates(1);
    let printed = test
        .bare()
        .prints("retire 1 --delete --var folder=/DC0/vm/a");
    let lock = "0".repeat(64);
    let expected = format!(
        "govc folder.info /DC0/vm/a\n\
         govc object.collect -s /DC0/vm/a/node-1 config.annotation \
         | grep -qF -- '\"imagegen-lock\":\"{lock}\"' &&\n\
         govc vm.destroy /DC0/vm/a/node-1\n"
    );
    assert!(printed.ends_with(&expected), "{printed}");
}

#[test]
fn an_exported_image_is_files() {
    let record = Build {
        target: "vsphere",
        id: "image/windows-2025-k8s-1.36.4-1.2.3-disk-0.vmdk",
        ..Build::default()
    }
    .record();
    let test = Test::new().file("image.json", &record.to_string());
    test.line("retire image.json --delete --var folder=/DC0/vm")
        .fails(3, &["the image is files"]);
}

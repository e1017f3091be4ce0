//! What a stranger's request may bring into a job.

use super::forge::Forge;
use super::steps::Bench;

/// A request may bring a folder that is a repository to git, whose settings run a program in a job with secrets.
#[test]
fn git_takes_no_folder_of_a_request_for_the_repository() {
    let Some(forge) = Forge::new() else { return };
    let bench = Bench::new(&forge);
    let ran = bench.run(
        "git init --quiet --bare web
         git -C web config remote.origin.url .
         git -C web config remote.origin.uploadpack \"touch $PWD/planted;\"
         cd web && bash ../ci/node-images waiting list",
    );
    assert_ne!(ran.code, Some(0), "{}", ran.log);
    assert!(ran.log.contains("bare repository"), "{}", ran.log);
    assert!(!bench.machine.work.join("planted").exists());
}

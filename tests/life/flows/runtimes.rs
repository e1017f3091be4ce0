//! The names of runtimes that a flow gives kubeadm.

use imagegen::model::line::Minor;
use imagegen::selection::read_trees;

use super::fold::fold_join;
use super::{find_flow, make_image, read_table};

/// crictl's name of Docker is not kubeadm's: with it the kubelet dials the pipe that it serves itself.
#[test]
fn a_runtime_by_a_name_that_kubeadm_does_not_know_is_refused() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let minor: Minor = "1.20".parse().expect("a minor");
    for (id, wrong) in [("plain-docker", "dockershim"), ("plain", "docker_engine")] {
        let flow = find_flow(&table, id);
        let image = make_image(&flow, minor, &trees).expect("an image");
        assert!(fold_join(&image, &flow).is_ok(), "{id}");
        let mut other = flow.clone();
        let (line, _) = flow.commands[0].rsplit_once('/').expect("a pipe");
        other.commands[0] = format!("{line}/{wrong}");
        let why = fold_join(&image, &other).expect_err(id);
        assert!(
            why.contains(&format!("dials npipe:////./pipe/{wrong}")),
            "{why}"
        );
    }
}

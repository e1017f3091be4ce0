//! Credential providers of registries.

use imagegen::base::version::Version;
use imagegen::planning::resolve_plan;
use imagegen::selection::read_trees;

use super::{azure, files, made};

/// The kubelet asks for credentials where and as its line does.
#[test]
fn credential_providers_are_configured_as_the_line_reads_them() {
    let trees = read_trees(None).expect("the catalog");
    for (kubernetes, api, both) in [
        ("1.22.0", "v1alpha1", true),
        ("1.25.0", "v1beta1", true),
        ("1.36.4", "v1", false),
    ] {
        let mut selection = azure(kubernetes);
        selection.components.insert(
            "azure-acr-credential-provider".to_owned(),
            "1.33.3".parse().expect("version"),
        );
        let (guest, machine) = made(&selection, &trees).expect("planned");
        let file = files(&guest)
            .find(|file| file.path.ends_with(r"credential-providers\config.yaml"))
            .expect("a file");
        assert!(
            file.content()
                .expect("content")
                .contains(&format!("kubelet.config.k8s.io/{api}\n"))
        );
        let bare = machine
            .present_files()
            .any(|file| file.path.ends_with(r"\azure-acr-credential-provider"));
        assert_eq!(bare, both, "{kubernetes}");
        let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
        assert!(
            kubelet
                .arguments
                .iter()
                .any(|word| word.starts_with("--image-credential-provider-bin-dir="))
        );
    }
}

/// Google's digests are those of Kubernetes' scripts for its cloud and of the promotion to Kubernetes' servers, Amazon's
/// those of that promotion.
#[test]
fn registries_get_their_program_and_its_configuration() {
    let trees = read_trees(None).expect("the catalog");
    for (name, version, registry) in [
        ("auth-provider-gcp", "0.0.2-gke.4", "\"*.pkg.dev\""),
        ("auth-provider-gcp", "35.1.0", "\"gcr.io\""),
        (
            "ecr-credential-provider",
            "1.31.7",
            "\"*.dkr.ecr.*.amazonaws.com\"",
        ),
        (
            "ecr-credential-provider",
            "1.31.7",
            "\"*.dkr-ecr.*.on.aws\"",
        ),
        (
            "ecr-credential-provider",
            "1.26.1",
            "\"*.dkr.ecr.*.amazonaws.com.cn\"",
        ),
    ] {
        let version: Version = version.parse().expect("version");
        let mut selection = azure("1.36.4");
        selection
            .components
            .insert(name.to_owned(), version.clone());
        let plan = resolve_plan(&selection, &trees).expect("planned");
        assert!(
            plan.unpinned_artifacts()
                .all(|artifact| artifact.component != name),
            "{name} {version}"
        );
        let (guest, machine) = made(&selection, &trees).expect("planned");
        let configurations: Vec<_> = files(&guest)
            .filter(|file| file.path.ends_with(r"credential-providers\config.yaml"))
            .collect();
        assert_eq!(configurations.len(), 1, "{name}");
        let text = configurations[0].content().expect("content");
        assert!(
            text.contains(&format!("name: {name}.exe\n")) && text.contains(registry),
            "{text}"
        );
        let program = format!(r"C:\k\credential-providers\{name}.exe");
        assert!(
            machine.present_files().any(|file| *file.path == *program),
            "{program}"
        );
        let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
        for flag in [
            "--image-credential-provider-config=",
            "--image-credential-provider-bin-dir=",
        ] {
            assert_eq!(
                kubelet
                    .arguments
                    .iter()
                    .filter(|word| word.starts_with(flag))
                    .count(),
                1,
                "{flag}"
            );
        }
        let mut old = azure("1.25.0");
        old.components.insert(name.to_owned(), version);
        assert!(
            made(&old, &trees).is_none(),
            "its configuration is of an API that 1.25 does not know"
        );
    }
}

/// The kubelet reads one configuration, so two programs are refused together.
#[test]
fn one_image_has_one_credential_provider() {
    let trees = read_trees(None).expect("the catalog");
    let all = [
        ("azure-acr-credential-provider", "1.33.3"),
        ("auth-provider-gcp", "35.1.0"),
        ("ecr-credential-provider", "1.31.7"),
    ];
    for left_out in 0..all.len() {
        let mut selection = azure("1.36.4");
        for (_, (name, version)) in all.iter().enumerate().filter(|(at, _)| *at != left_out) {
            selection
                .components
                .insert((*name).to_owned(), version.parse().expect("version"));
        }
        let refusal = format!(
            "{:#}",
            resolve_plan(&selection, &trees).expect_err("two programs")
        );
        assert!(refusal.contains("credential-providers"), "{refusal}");
    }
}

/// The kubelet's file for EKS names the program alone, so it lies in a folder of the PATH under that name.
#[test]
fn the_authenticator_of_eks_is_an_option() {
    let trees = read_trees(None).expect("the catalog");
    let mut selection = azure("1.36.4");
    selection.components.insert(
        "aws-iam-authenticator".to_owned(),
        "0.7.4".parse().expect("version"),
    );
    let (_, machine) = made(&selection, &trees).expect("planned");
    assert!(
        machine
            .present_files()
            .any(|file| *file.path == *r"C:\k\aws-iam-authenticator.exe")
    );
    // EKS Distro's archives have digests, and nobody recorded what is in them.
    selection.components.insert(
        "aws-iam-authenticator".to_owned(),
        "0.5.2+eksd.1-19-4".parse().expect("version"),
    );
    assert!(made(&selection, &trees).is_none());
}

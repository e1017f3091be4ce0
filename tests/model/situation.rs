//! Conditions of steps.

use imagegen::base::choice::{Delivery, HostAccess, Join, Runtime};
use imagegen::model::situation::Conditions;
use imagegen::model::step::When;
use imagegen::windows::resource::WinrmTransport;

fn situation() -> Conditions {
    Conditions {
        target: "cloud".to_owned(),
        image: true,
        windows: "2019".to_owned(),
        kubernetes: "1.20.0".parse().expect("version"),
        runtime: Runtime::Containerd,
        runtime_version: "1.7.27".parse().ok(),
        cni: "bridge".to_owned(),
        overlay: false,
        dsr: true,
        host_access: HostAccess::Wins,
        join: Join::Templates,
        delivery: Delivery::Download,
        winrm: Some(WinrmTransport::Https),
        features: ["gmsa".to_owned()].into(),
        components: [("wins".to_owned(), "0.0.4".parse().expect("version"))].into(),
    }
}

#[test]
fn every_condition_can_fail_alone() {
    let situation = situation();
    for (holds, text) in [
        (true, "{}"),
        (true, r#"{"target":["other","cloud"]}"#),
        (false, r#"{"target":["other"]}"#),
        (false, r#"{"target":[]}"#),
        (true, r#"{"image":true}"#),
        (false, r#"{"image":false}"#),
        (false, r#"{"windows":["2022"]}"#),
        (true, r#"{"kubernetes":">=1.20.0, <1.21.0"}"#),
        (false, r#"{"kubernetes":">=1.24.0"}"#),
        (false, r#"{"runtime":["docker"]}"#),
        (false, r#"{"runtimeVersion":">=2.0.0"}"#),
        (false, r#"{"cni":["calico"]}"#),
        (true, r#"{"cni":["!calico"]}"#),
        (false, r#"{"cni":["!bridge"]}"#),
        (false, r#"{"overlay":true}"#),
        (true, r#"{"overlay":false}"#),
        (true, r#"{"dsr":true}"#),
        (false, r#"{"dsr":false}"#),
        (false, r#"{"hostAccess":["services"]}"#),
        (true, r#"{"join":["!none"]}"#),
        (false, r#"{"join":["kubeadm"]}"#),
        (false, r#"{"delivery":["media"]}"#),
        (true, r#"{"winrm":"HTTPS"}"#),
        (false, r#"{"winrm":"HTTP"}"#),
        (true, r#"{"feature":["gmsa","!smb"]}"#),
        (false, r#"{"feature":["!gmsa"]}"#),
        (false, r#"{"feature":["smb"]}"#),
        (true, r#"{"component":["wins","!csi-proxy"]}"#),
        (true, r#"{"component":["csi-proxy|wins"]}"#),
        (false, r#"{"component":["csi-proxy|docker"]}"#),
        (false, r#"{"component":["!wins"]}"#),
    ] {
        let when: When = serde_json::from_str(text).expect(text);
        assert_eq!(situation.holds(&when), holds, "{text}");
    }
}

#[test]
fn a_range_that_is_none_is_refused_when_read() {
    assert!(serde_json::from_str::<When>(r#"{"kubernetes":"1.20"}"#).is_err());
}

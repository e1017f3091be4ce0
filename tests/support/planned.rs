//! Artifacts that plans name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Test;

/// By the line that planned them: many tests want the same.
static PLANNED: Mutex<BTreeMap<String, Arc<[Value]>>> = Mutex::new(BTreeMap::new());

/// Takes the programs of Kubernetes one by one instead of from their archive, as an override of one of them does.
pub const SINGLY: &str = "--override \
    kubelet.sha256=5151515151515151515151515151515151515151515151515151515151515151";

/// Artifacts of a line such as `plan --target azure --k8s 1.36.0`, which reads no file.
#[track_caller]
pub fn list_artifacts(line: &str) -> Arc<[Value]> {
    let mut planned = PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = planned.get(line) {
        return Arc::clone(known);
    }
    let plan = Test::new().prints_json(&format!("{line} --format json"));
    let groups = plan["components"].as_array().expect("components").iter();
    let artifacts: Arc<[Value]> = groups
        .flat_map(|group| group["artifacts"].as_array().expect("artifacts"))
        .cloned()
        .collect();
    planned.insert(line.to_owned(), Arc::clone(&artifacts));
    artifacts
}

//! A package of Windows Installer, made by msibuild.

use std::path::Path;
use std::process::Command;

/// A package with one value of the registry, which is what its property SAID holds.
pub(super) fn make_package(path: &Path) {
    let code = "{5F9A3C1E-0000-4000-8000-000000000002}";
    build_package(path, &["-s", "said", "imagegen", "x64;1033", code]);
    let columns = "`Value` CHAR(0) LOCALIZABLE";
    let tables = [
        format!("Property (`Property` CHAR(72) NOT NULL, {columns} PRIMARY KEY `Property`)"),
        "Directory (`Directory` CHAR(72) NOT NULL, `DefaultDir` CHAR(255) PRIMARY KEY `Directory`)".into(),
        "Component (`Component` CHAR(72) NOT NULL, `ComponentId` CHAR(38), `Directory_` CHAR(72), `Attributes` SHORT, \
         `Condition` CHAR(255), `KeyPath` CHAR(72) PRIMARY KEY `Component`)"
            .into(),
        "Feature (`Feature` CHAR(38) NOT NULL, `Feature_Parent` CHAR(38), `Title` CHAR(64), `Description` CHAR(255), \
         `Display` SHORT, `Level` SHORT NOT NULL, `Directory_` CHAR(72), `Attributes` SHORT NOT NULL \
         PRIMARY KEY `Feature`)"
            .into(),
        "FeatureComponents (`Feature_` CHAR(38) NOT NULL, `Component_` CHAR(72) NOT NULL \
         PRIMARY KEY `Feature_`, `Component_`)"
            .into(),
        format!(
            "Registry (`Registry` CHAR(72) NOT NULL, `Root` SHORT NOT NULL, `Key` CHAR(255), `Name` CHAR(255), \
             {columns}, `Component_` CHAR(72) PRIMARY KEY `Registry`)"
        ),
        "InstallExecuteSequence (`Action` CHAR(72) NOT NULL, `Condition` CHAR(255), `Sequence` SHORT \
         PRIMARY KEY `Action`)"
            .into(),
    ];
    for table in tables {
        let (name, rest) = table.split_once(' ').unwrap();
        edit_package(path, &format!("CREATE TABLE `{name}` {rest}"));
    }
    fill_package(path);
}

fn fill_package(path: &Path) {
    let mut rows = vec![
        "Directory (`Directory`, `DefaultDir`) VALUES ('TARGETDIR', 'SourceDir')".to_owned(),
        "Component (`Component`, `ComponentId`, `Directory_`, `Attributes`, `KeyPath`) VALUES \
         ('c', '{5F9A3C1E-0000-4000-8000-000000000003}', 'TARGETDIR', 260, 'r')"
            .into(),
        "Feature (`Feature`, `Level`, `Attributes`) VALUES ('f', 1, 0)".into(),
        "FeatureComponents (`Feature_`, `Component_`) VALUES ('f', 'c')".into(),
        "Registry (`Registry`, `Root`, `Key`, `Name`, `Value`, `Component_`) VALUES \
         ('r', 2, 'Software\\imagegen-msi', 'said', '[SAID]', 'c')"
            .into(),
    ];
    let properties = [
        ("ProductCode", "{5F9A3C1E-0000-4000-8000-000000000001}"),
        ("ProductName", "said"),
        ("ProductVersion", "1.0.0"),
        ("ProductLanguage", "1033"),
        ("Manufacturer", "imagegen"),
    ];
    for (name, value) in properties {
        rows.push(format!(
            "Property (`Property`, `Value`) VALUES ('{name}', '{value}')"
        ));
    }
    let actions = "CostInitialize FileCost CostFinalize InstallInitialize ProcessComponents \
                   WriteRegistryValues RegisterProduct InstallFinalize";
    for (number, action) in actions.split_whitespace().enumerate() {
        let at = 100 * (number + 1);
        rows.push(format!(
            "InstallExecuteSequence (`Action`, `Sequence`) VALUES ('{action}', {at})"
        ));
    }
    for row in rows {
        let (name, rest) = row.split_once(' ').unwrap();
        edit_package(path, &format!("INSERT INTO `{name}` {rest}"));
    }
}

fn edit_package(path: &Path, query: &str) {
    build_package(path, &["-q", query]);
}

fn build_package(path: &Path, arguments: &[&str]) {
    let ran = Command::new("msibuild").arg(path).args(arguments).output();
    let ran = ran.unwrap();
    let text = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {text}");
}

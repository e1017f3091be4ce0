//! What Windows asks of a script and no other test can show: each text was missing once.

use super::root;

/// File below `provisioners/`, text, and what happens without it.
const KEPT: [(&str, &str, &str); 67] = [
    (
        "node/Upgrade-Node.ps1",
        "            Clear-PreviousPayload\n            $switched = $true",
        "an upgrade that fails early puts the payload before the one in use in place",
    ),
    (
        "node/Upgrade.ps1",
        "    Register-Return\n    Move-Payload",
        "a machine that stops between two moves has no script any more",
    ),
    (
        "node/Upgrade.ps1",
        "    Register-Return\n    Invoke-FileAction -Action $script:Return",
        "nor has one that stops on the way back of an upgrade that failed",
    ),
    (
        "node/Payload.ps1",
        "    Register-Return -Aside\n    try {\n        foreach ($name in",
        "nor has one that stops while an upgrade asks whether its folders can be moved",
    ),
    (
        "engine/Engine.psm1",
        "if ($Phase -eq 'node' -and $result.failed -eq 0 -and -not $result.restart) { Clear-Cache }",
        "each upgrade of a node leaves its archives on the disk",
    ),
    (
        "node/Upgrade.ps1",
        "foreach (`$try in 1..240) {`ntry {`n$script:Return`nbreak`n",
        "a scanner that holds a folder at the next start leaves a node without scripts",
    ),
    (
        "node/Upgrade.ps1",
        "    try {\n        Set-Task -Name 'imagegen-return'",
        "a machine that takes no task is drained, stopped, and not upgraded",
    ),
    (
        "engine/Tools.ps1",
        r"if ($text -cmatch '\A\{[^\0]*\}\s*\z')",
        "a record whose bytes a power cut took refuses each later run",
    ),
    (
        "engine/Installation.ps1",
        r"if ($text -cnotmatch '\A\{[^\0]*\}\s*\z')",
        "an installation does not go on after a power cut",
    ),
    (
        "engine/Installation.ps1",
        "if ($outcome.code -eq 8) { $Progress.state = 'prepare' }",
        "what drifts before the checks is never set again",
    ),
    (
        "engine/Installation.ps1",
        "Add-LogLine -Path $script:Log",
        "a program that reads the log of an installation for a moment ends it",
    ),
    (
        "engine/windows/machine.ps1",
        "-match '^[ABD-Z]:') {",
        "on a Windows of another drive the plan is applied to folders that nothing uses",
    ),
    (
        "engine/Images.ps1",
        "$text.Substring(0, $text.LastIndexOf(']') + 1)",
        "a warning of Docker beside its answer is no JSON, and ends the build",
    ),
    (
        "engine/Files.ps1",
        "$stream.Flush($true)",
        "a power cut leaves a file of zeros under its final name",
    ),
    (
        "engine/Reports.ps1",
        "Add-LogLine -Path $script:Journal",
        "a check beside an upgrade ends it: both write to the journal",
    ),
    (
        "node/Node.psm1",
        "    try {\n        $null = [IO.Directory]::CreateDirectory($folder)\n        Add-LogLine",
        "a full disk keeps a node from its reset, which would empty it",
    ),
    (
        "node/Join.ps1",
        "catch [Threading.AbandonedMutexException]",
        "a join fails because the task that completed the node was ended",
    ),
    (
        "node/Join.ps1",
        "-isnot [UnauthorizedAccessException]) { throw }",
        "a person's join fails at its end, because the task of SYSTEM completes the node at that moment",
    ),
    (
        "node/Join.ps1",
        r#"$url = "$(Get-HealthUrl -Facts $facts)""#,
        "where the cluster gives its kubelets another port, a node that joined counts as failed, and an upgrade goes back",
    ),
    (
        "node/Bridge.ps1",
        "if ($isHere) { Initialize-Bridge",
        "before the address of a node is there, Windows chooses the card of its bridge",
    ),
    (
        "engine/windows/network.ps1",
        "if (-not $response) { throw",
        "while host networks start, a node tells of an argument that cannot be bound",
    ),
    (
        "resources/registryValue.ps1",
        r#"-eq 'Binary' -and $value.data -eq "$data")"#,
        "binary data with capital letters is set by each run, and never right",
    ),
    (
        "resources/assertion.ps1",
        "-or $state -eq ''",
        "a check that a service is gone holds while it is there",
    ),
    (
        "engine/windows/winrm.ps1",
        r"$names['Service\AllowUnencrypted'] =",
        "a setting of the client is judged by that of the service",
    ),
    (
        "engine/Installation.ps1",
        "$Progress.state = $state.next\n        $Progress.restarts = 0",
        "an installation that restarted eleven times in all its runs never ends",
    ),
    (
        "node/Logs.ps1",
        "if ((Get-FreeSpace) -lt (Get-LogLength ",
        "a log that has filled the disk is never emptied, for want of room for its copy",
    ),
    (
        "engine/windows/machine.ps1",
        "-Accept 0, 1115, 1190",
        "a restart that another program has begun ends the installation as a failure",
    ),
    (
        "engine/windows/handles.ps1",
        "$whole = $Name + $digest.Substring",
        "an upgrade to scripts that call Windows in another way ends with a class that is there already",
    ),
    (
        "resources/symlink.ps1",
        "-eq $target.Replace('/', '\\').TrimEnd('\\')",
        "a link whose target is written with slashes is made anew by each run, and never right",
    ),
    (
        "node/Join-Node.ps1",
        "for ($try = 1; Test-Path -LiteralPath $path; $try++)",
        "a scanner that holds the configuration keeps its token on the disk",
    ),
    (
        "engine/windows/tasks.ps1",
        "if ($Kind -in 'daily', 'minutely') { $trigger.StartBoundary",
        "on a clone whose clock is behind the build's no task completes the node for hours",
    ),
    (
        "engine/windows/firewall.ps1",
        "-Name 'AllowLocalPolicyMerge'",
        "a policy closes the ports of a node, and its check says that all is well",
    ),
    (
        "engine/Invoke-Plan.ps1",
        "-ne 'FullLanguage') {",
        "under a policy for constrained language nothing says why a node does nothing",
    ),
    (
        "node/Network.ps1",
        "if ($share -and $address) { return",
        "a cluster that names IPv6 first gets addresses of IPv6 into a network of IPv4",
    ),
    (
        "node/Bridge.ps1",
        "if ($why -cne $told) { Write-NodeLine",
        "each try of a bridge writes the same line, 600 of them in one run",
    ),
    (
        "node/Bridge.ps1",
        "if ($Card) { $wanted.NetworkAdapterName = $Card }",
        "of several cards Windows may take the wrong one for the pods",
    ),
    (
        "engine/Native.ps1",
        "$start.StandardOutputEncoding = New-Object -TypeName Text.UTF8Encoding",
        "text of programs is read in the console's code page",
    ),
    (
        "engine/Native.ps1",
        "stdout = $native.output.Result",
        "5.1 writes errors as CLIXML, which would be compared with what a script prints",
    ),
    (
        "engine/Native.ps1",
        "[Console]::InputEncoding",
        "code page 65001 puts a byte order mark before the input",
    ),
    (
        "engine/windows/tasks.ps1",
        "LogonType = 'ServiceAccount'",
        "a task of SYSTEM waits for somebody to sign in",
    ),
    (
        "engine/Update.ps1",
        "[int]$found.ResultCode -eq 2",
        "a list that is not complete counts as nothing missing",
    ),
    (
        "engine/Update.ps1",
        "if ($try -eq 10) { throw }",
        "a network that is not there yet ends an installation",
    ),
    (
        "engine/Installation.ps1",
        "Trigger = 'afterStartup'",
        "an installation goes on before the network is there",
    ),
    (
        "resources/hotfix.ps1",
        "-in 'installed', 'present', 'notApplicable'",
        "an update that Windows took back during the restart counts as installed",
    ),
    (
        "resources/hotfix.ps1",
        "if ($before -eq 'secondRestart') { throw",
        "an update that Windows takes back each time restarts the machine for ever",
    ),
    (
        "node/Upgrade-Node.ps1",
        "        Assert-Movable\n    }\n    $switched",
        "a shell in a folder of the payload stops an upgrade when the pods are gone",
    ),
    (
        "engine/Downloads.ps1",
        "$Code -in 22, 37",
        "a connection that was refused or reset is not tried again",
    ),
    (
        "installer/Install.ps1",
        r"if ($Destination -ne 'C:\imagegen') { throw",
        "the plan's tasks and settings name a folder that is not there",
    ),
    (
        "node/Payload.ps1",
        "if ($runtimes[0] -cne $runtimes[1]) {",
        "pods of Docker are left beside those of containerd",
    ),
    (
        "engine/Offers.ps1",
        "if (-not $found.busy) { break }",
        "a search that another installation kept from its end counts as nothing missing",
    ),
    (
        "resources/msi.ps1",
        "if ('busy' -ne $outcome) { break }",
        "an installation of the platform's agents ends the build with 1618",
    ),
    (
        "steps/150-cloudbase-init.json",
        "while ($process.ExitCode -eq 1618 -and",
        "an installation of the platform's agents ends the build with 1618",
    ),
    (
        "engine/windows/defender.ps1",
        "-Name 'DisableAntiSpyware'",
        "a machine with another antivirus is refused: Get-MpPreference fails for ever",
    ),
    (
        "resources/defenderExclusion.ps1",
        "-like 'N/A:*' -and $null -ne $record",
        "a machine whose policy hides exclusions is refused: what was set is never seen",
    ),
    (
        "node/Logs.ps1",
        "@size)) { continue }\n        if ($log.LastWriteTimeUtc -ge $until) { continue }",
        "a log that is open for a month counts as old, cannot be removed, and grows for ever",
    ),
    (
        "node/Logs.ps1",
        "foreach ($path in @(Get-OwnLog)) { $null = Limit-LogLength",
        "a task that fails each minute fills the disk with the log of its failures",
    ),
    (
        "node/Logs.ps1",
        "(Get-LogLength -Path",
        "a log that its service keeps open is never limited: its folder tells an old length",
    ),
    (
        "engine/Files.ps1",
        "Invoke-FileAction -Action { Remove-PlainItem",
        "a file that a scanner holds ends a reset or an upgrade",
    ),
    (
        "node/Reset-Node.ps1",
        "$run.code = 3010",
        "a reset that waits for a restart says that it is done",
    ),
    (
        "node/Network.ps1",
        "-Force }\n    }\n    Stop-Task -Name 'imagegen-flanneld'",
        "the next minute starts flanneld again while it is stopped",
    ),
    (
        "node/Payload.ps1",
        "Copy-File -From (Resolve-NativePath -Path $Payload) -To $copy",
        "a payload changes between its digest and its unpacking",
    ),
    (
        "engine/Files.ps1",
        "    [IO.File]::Delete(\"$native.partial\")\n    \"$native.partial\"",
        "a program keeps the access that a user gave to the file where it grew",
    ),
    (
        "node/Network.ps1",
        "-cmatch 'NotFound'",
        "a Node that is not there yet ends the join",
    ),
    (
        "node/Upgrade-Node.ps1",
        "-Phase 'node' -Platform",
        "an upgrade applies what only a build needs",
    ),
    (
        "templates/setup-complete.cmd",
        "if not %errorlevel%==0",
        "a negative exit code counts as success",
    ),
    (
        "steps/900-seal.json",
        "MaximumPasswordAge = -1",
        "the first boot waits for a new password",
    ),
    (
        "steps/150-cloudbase-init.json",
        "RUN_SERVICE_AS_LOCAL_SYSTEM=1",
        "the firewall keeps cloudbase-init from Azure's metadata",
    ),
];

#[test]
fn what_windows_asks_of_the_scripts_is_kept() {
    let folder = root().join("provisioners");
    let lost = KEPT.iter().filter(|(file, text, _)| {
        !std::fs::read_to_string(folder.join(file))
            .expect(file)
            .contains(text)
    });
    let lost: Vec<String> = lost
        .map(|(file, text, why)| format!("{file}: no `{text}`: {why}"))
        .collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// The script takes the address out of what the template makes of it.
#[test]
fn the_card_of_a_bridge_is_found_in_its_configuration() {
    let folder = root().join("provisioners");
    let script = std::fs::read_to_string(folder.join("node/Bridge.ps1")).unwrap();
    let (_, rest) = script.split_once("$Text -notmatch '").unwrap();
    let form = regex_lite::Regex::new(rest.split_once('\'').unwrap().0).unwrap();
    let template = std::fs::read_to_string(folder.join("templates/cni-plain.conf")).unwrap();
    let filled = template.replace("@NODE_ADDRESS@", "10.1.18.7");
    let found: Vec<&str> = form
        .captures_iter(&filled)
        .map(|it| it.get(1).unwrap().as_str())
        .collect();
    // Of Docker and of containerd.
    assert_eq!(found, ["10.1.18.7", "10.1.18.7"]);
}

/// The script finds the port of the kubelet's health in what kubeadm writes.
#[test]
fn the_port_of_the_kubelet_is_found_in_its_configuration() {
    let script = root().join("provisioners/node/Network.ps1");
    let script = std::fs::read_to_string(script).unwrap();
    let (_, rest) = script.split_once("function Select-YamlValue").unwrap();
    let (_, rest) = rest.split_once("$form = '").unwrap();
    let form = rest.split_once("' -f").unwrap().0.replace("''", "'");
    let text = "healthzBindAddress: 127.0.0.1\nhealthzPort: 10348\nhttpCheckFrequency: 0s\n";
    for (key, value) in [
        ("healthzBindAddress", "127.0.0.1"),
        ("healthzPort", "10348"),
    ] {
        let form = regex_lite::Regex::new(&form.replace("{0}", key)).unwrap();
        let found = form.captures(text).unwrap();
        assert_eq!(&found[1], value);
    }
}

/// The script takes the address out of what each template makes of it, and no network of the cluster for one.
#[test]
fn the_address_of_a_node_is_found_in_its_configuration() {
    let folder = root().join("provisioners");
    let script = std::fs::read_to_string(folder.join("node/Bridge.ps1")).unwrap();
    let (_, rest) = script.split_once("function Get-ConfiguredAddress").unwrap();
    let (_, rest) = rest.split_once("$Text -match '").unwrap();
    let form = regex_lite::Regex::new(rest.split_once('\'').unwrap().0).unwrap();
    for (name, count) in [
        ("cni-plain.conf", 3),
        ("cni-flannel.conf", 3),
        ("cni-calico.conf", 0),
    ] {
        let template = std::fs::read_to_string(folder.join("templates").join(name)).unwrap();
        let filled = template.replace("@NODE_ADDRESS@", "10.1.18.7");
        let filled = filled.replace("{{ network.services }}", "10.96.0.0/12");
        let found: Vec<&str> = form
            .captures_iter(&filled)
            .map(|it| it.get(1).unwrap().as_str())
            .collect();
        assert_eq!(found, vec!["10.1.18.7"; count], "{name}");
    }
}

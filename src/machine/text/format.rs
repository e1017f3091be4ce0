//! One line each for what has settings.

use crate::windows::command_line;
use crate::windows::resource::{
    Assertion, AssertionCheck, Direction, FailureAction, FailureActionKind, FirewallAction,
    FirewallSettings, RegistryData, ServiceSettings, ServiceState, StartType,
};
use crate::windows::value::{AccountName, AccountSid, Ports, ServiceName};

use super::super::state::Port;

pub(super) fn format_service(name: &str, service: &ServiceSettings) -> String {
    let start = service.start_type.map(|start| match start {
        StartType::Auto => "automatic",
        StartType::Delayed => "automatic, delayed",
        StartType::Manual => "manual",
        StartType::Disabled => "disabled",
    });
    // The engine creates every service with this account.
    let account = service.program.as_ref().map(|_| "LocalSystem");
    let state = service.state.map(ServiceState::as_str);
    let facts: Vec<&str> = [start, state, account].into_iter().flatten().collect();
    if facts.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {}", facts.join(", "))
    }
}

pub(super) fn format_failure_action(action: &FailureAction) -> String {
    let what = match action.action {
        FailureActionKind::None => return "nothing".to_owned(),
        FailureActionKind::Restart => "restart",
        FailureActionKind::Reboot => "reboot",
    };
    format!("{what} after {} s", action.delay_seconds)
}

pub(super) fn format_data(data: &RegistryData) -> String {
    match data {
        RegistryData::String(text) => format!("\"{text}\" (String)"),
        RegistryData::ExpandString(text) => format!("\"{text}\" (ExpandString)"),
        RegistryData::DWord(number) => format!("{number} (DWord)"),
        RegistryData::QWord(number) => format!("{number} (QWord)"),
        RegistryData::MultiString(list) => format!("[{}] (MultiString)", list.join(", ")),
        RegistryData::Binary(digits) => format!("\"{digits}\" (Binary)"),
    }
}

pub(super) fn format_rule(rule: &FirewallSettings) -> String {
    let action = match rule.action {
        FirewallAction::Allow => "allow",
        FirewallAction::Block => "block",
    };
    let protocol = match rule.protocol {
        Some(protocol) => protocol.to_string(),
        None => "any".to_owned(),
    };
    let mut text = format!("{action} {} {protocol}", format_direction(rule.direction));

    let mut accounts: Vec<&str> = rule.except_account.iter().map(AccountSid::as_str).collect();
    accounts.extend(rule.except_user.iter().map(AccountName::as_str));
    let lists = [
        ("port", join_ports(&rule.local_port)),
        ("to port", join_ports(&rule.remote_port)),
        ("with", rule.remote_address.join(", ")),
        ("except for", accounts.join(", ")),
    ];
    for (title, values) in lists {
        if !values.is_empty() {
            text = format!("{text} {title} {values}");
        }
    }
    match rule.icmp_type {
        Some(kind) => format!("{text} type {kind}"),
        None => text,
    }
}

fn join_ports(ports: &[Ports]) -> String {
    let texts: Vec<&str> = ports.iter().map(Ports::as_str).collect();
    texts.join(", ")
}

fn format_direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Inbound => "in",
        Direction::Outbound => "out",
    }
}

pub(super) fn format_port(port: &Port) -> String {
    let rule = match (&port.rule, port.direction) {
        (Some(rule), _) => format!("allowed by {rule}"),
        (None, Direction::Inbound) => "not allowed by any rule".to_owned(),
        (None, Direction::Outbound) => "no rule needed".to_owned(),
    };
    format!(
        "{}: {} {} {}, {rule}",
        port.program,
        format_direction(port.direction),
        port.protocol,
        port.port
    )
}

pub(super) fn format_assertion(it: &Assertion) -> String {
    let fact = match &it.check {
        AssertionCheck::Command {
            program,
            arguments,
            pattern,
        } => {
            let line = command_line::join_words(program, arguments.as_deref().unwrap_or_default());
            match pattern {
                Some(pattern) => format!("{line} prints {pattern}"),
                None => format!("{line} succeeds"),
            }
        }
        AssertionCheck::Service {
            service_name,
            alternatives,
            state,
        } => {
            let mut names = vec![service_name.as_str()];
            names.extend(alternatives.iter().map(ServiceName::as_str));
            format!(
                "service {} is {}",
                names.join(" or "),
                state.map_or("there", ServiceState::as_str)
            )
        }
        AssertionCheck::OsBuild { build, revision } => {
            let revision = revision.map(|revision| format!(".{revision} or later"));
            format!("build {build}{}", revision.unwrap_or_default())
        }
    };
    if it.holds {
        fact
    } else {
        format!("not: {fact}")
    }
}

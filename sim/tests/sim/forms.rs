//! Single instructions: valid for the targets and versions for which ptxas accepts them, and invalid otherwise.

use warpwright_sim::validate;

const TARGETS: [&str; 12] =
    ["75", "80", "86", "89", "90", "90a", "100", "100a", "103a", "110a", "120", "120a"];

/// The PTX versions, and for each the newest of the targets that it introduces.
const VERSIONS: [&str; 22] = [
    "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2",
    "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0",
];

/// The registers by prefix.
const REGISTERS: [(&str, &str); 16] = [
    ("p", "pred"),
    ("h", "b16"),
    ("r", "b32"),
    ("rd", "b64"),
    ("f", "f32"),
    ("fd", "f64"),
    ("q", "b128"),
    ("u", "u32"),
    ("s", "s32"),
    ("sd", "s64"),
    ("us", "u16"),
    ("ss", "s16"),
    ("bb", "b8"),
    ("hf", "f16"),
    ("hx", "f16x2"),
    ("ub", "u8"),
];

/// Returns a kernel with one instruction and the declarations of its operands.
fn module(form: &str, version: &str, target: &str) -> String {
    let named = |prefix: &str| {
        let start = format!("%{prefix}");
        form.match_indices(&start)
            .any(|(at, _)| form[at + start.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let registers: String = REGISTERS
        .iter()
        .filter(|(prefix, _)| named(prefix))
        .map(|(prefix, ty)| format!(".reg .{ty} %{prefix}<40>; "))
        .collect();
    format!(
        ".version {version}\n.target sm_{target}\n.address_size 64\n.visible .entry k()\n{{\n{registers}
        .shared .align 128 .b8 sh[4096]; .local .align 16 .b8 lo[256];\n{form}\nret;\n}}\n"
    )
}

#[test]
fn instructions_are_valid_where_ptxas_accepts_them() {
    let mut wrong = vec![];
    let mut count = 0;
    for row in include_str!("../data/forms.tsv").lines().filter(|row| !row.starts_with('#')) {
        let [since, targets, form] = row.splitn(3, '\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let takes = |target: &str| targets == "all" || targets.split(',').any(|t| t == target);
        let mut judge = |version: &str, target: &str, valid: bool| {
            count += 1;
            let errors = validate("k.ptx", &module(form, version, target));
            if errors.is_empty() != valid {
                let why = errors.first().map_or("nothing is wrong", |error| error.message());
                wrong.push(format!("{form} in PTX {version} on sm_{target}: {why}"));
            }
        };
        for target in TARGETS {
            judge("9.0", target, takes(target));
        }
        if let Some(at) = VERSIONS.iter().position(|version| *version == since) {
            let first = TARGETS.iter().find(|target| takes(target)).expect("a target");
            judge(since, first, true);
            if at > 0 {
                // In the preceding version, either the instruction or the target does not exist.
                judge(VERSIONS[at - 1], first, false);
            }
        }
    }
    assert!(count > 5000, "{count} forms");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

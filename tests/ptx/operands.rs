//! Operands that are generated for a form from the notation of `Form::operands`.

/// Every line that shows `mnemonic` with operands of the given classes: with and without optional ones, and with each
/// constant that is allowed.
pub(crate) fn lines(mnemonic: &str, operands: &str) -> Vec<String> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    let mut complete = Vec::new();
    let mut registers = Registers::default();
    for operand in operands.split_whitespace() {
        let operand = match operand.strip_prefix('?') {
            Some(operand) => {
                complete.extend(lists.iter().cloned());
                operand
            }
            None => operand,
        };
        let choices = registers.choices(mnemonic, operand);
        lists = lists
            .iter()
            .flat_map(|list| {
                choices.iter().map(|c| list.iter().cloned().chain([c.clone()]).collect::<Vec<_>>())
            })
            .collect();
    }
    complete.extend(lists);
    complete.iter().map(|list| format!("{mnemonic} {};", list.join(", "))).collect()
}

/// The line that reads a special register of a type.
pub(crate) fn special(register: &str, class: &str) -> String {
    format!("mov.{class} {}, {register};", Registers::default().register(class))
}

#[derive(Default)]
struct Registers {
    taken: usize,
}

impl Registers {
    fn choices(&mut self, mnemonic: &str, operand: &str) -> Vec<String> {
        if let Some(constants) = operand.strip_prefix('#') {
            return constants.split('|').map(|c| if c == "n" { "1" } else { c }.to_string()).collect();
        }
        if operand.starts_with("{#") {
            return vec![operand.replace('#', "")];
        }
        if operand == "[map,nd]" {
            let coordinates = vec!["%r31"; dimension(mnemonic)].join(", ");
            return vec![format!("[{}, {{{coordinates}}}]", self.register("u64"))];
        }
        if let Some(address) = operand.strip_prefix('[') {
            let space = address.trim_end_matches(']').split_once(':').map(|(_, space)| space);
            let param =
                space == Some("param") || space.is_none() && mnemonic.split('.').any(|part| part == "param");
            return vec![match param {
                true if mnemonic.starts_with("st") => "[q]".into(),
                true => "[a]".into(),
                false => format!("[{}]", self.register("u64")),
            }];
        }
        if operand == "_" {
            return vec!["_".into()];
        }
        if operand == "call" {
            return vec!["f".into()];
        }
        if operand == "label" {
            return vec!["$L".into()];
        }
        let (negatable, operand) = operand.strip_prefix('!').map_or((false, operand), |rest| (true, rest));
        let (count, operand) = match operand.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some(("v", operand)) => (vector(mnemonic), operand),
            Some(("n/2", operand)) => (columns(mnemonic) / 2, operand),
            Some(("n/4", operand)) => (columns(mnemonic) / 4, operand),
            Some(("nd-2", operand)) => (dimension(mnemonic) - 2, operand),
            Some((count, operand)) => (count.parse().expect("a count in braces"), operand),
            None => (0, operand),
        };
        let class = operand.split_once(':').map_or(operand, |(_, class)| class);
        let (class, second) = match class.split_once('|') {
            Some((class, second)) => (class, Some(second)),
            None => (class, None),
        };
        let class = resolve(mnemonic, class);
        let text = match (count, second) {
            (0, None) => self.register(&class),
            (0, Some(second)) => format!("{}|{}", self.register(&class), self.register(second)),
            (count, _) => {
                let all: Vec<String> = (0..count).map(|_| self.register(&class)).collect();
                format!("{{{}}}", all.join(", "))
            }
        };
        if negatable { vec![format!("!{text}"), text] } else { vec![text] }
    }

    fn register(&mut self, class: &str) -> String {
        let prefix = match class {
            "pred" => "%p",
            "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" => "%rs",
            "b32" | "u32" | "s32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" => "%r",
            "f32" => "%f",
            "b64" | "u64" | "s64" => "%rd",
            "f64" => "%fd",
            "b128" => "%rq",
            _ => panic!("no registers of class `{class}`"),
        };
        self.taken += 1;
        format!("{prefix}{}", self.taken - 1)
    }
}

/// How many registers `.v2` and the like ask for; 0 for a plain one.
fn vector(mnemonic: &str) -> usize {
    let parts = || mnemonic.split('.');
    [2, 4, 8].into_iter().find(|n| parts().any(|part| part == format!("v{n}"))).unwrap_or(0)
}

/// The dimension of `.2d` and the like.
fn dimension(mnemonic: &str) -> usize {
    let mut parts = mnemonic.split('.').filter_map(|part| part.strip_suffix('d')?.parse().ok());
    parts.next().expect("a dimension")
}

/// The N of `m64n8k16` and the like.
fn columns(mnemonic: &str) -> usize {
    let shape = mnemonic.split_once("m64n").and_then(|(_, rest)| rest.split_once('k'));
    shape.and_then(|(n, _)| n.parse().ok()).expect("a shape")
}

/// The type of a class in a mnemonic.
fn resolve(mnemonic: &str, class: &str) -> String {
    const TYPES: [&str; 22] = [
        "pred", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16", "b32", "u32", "s32", "f16x2", "bf16x2",
        "u16x2", "s16x2", "f32", "b64", "u64", "s64", "f64", "b128",
    ];
    let mut types = mnemonic.split('.').filter(|part| TYPES.contains(part));
    let last = || mnemonic.split('.').rev().find(|part| TYPES.contains(part));
    let found = match class {
        "t" | "w" => last(),
        "t1" => types.next(),
        _ => return class.to_string(),
    };
    let found = found.unwrap_or_else(|| panic!("`{mnemonic}` names no type for class `{class}`"));
    match (class, found) {
        ("w", "u16") => "u32",
        ("w", "s16") => "s32",
        ("w", "u32") => "u64",
        ("w", "s32") => "s64",
        _ => found,
    }
    .to_string()
}

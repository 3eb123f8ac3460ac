//! A reader for the JSON of the corpus: enough of the format for `case.json`.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    /// Integers keep all their digits.
    Int(i128),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    pub(crate) fn parse(text: &str) -> Json {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        reader.value()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(map) => map.get(key).filter(|v| **v != Json::Null),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("expected text, found {other:?}"),
        }
    }

    pub(crate) fn int(&self) -> i128 {
        match self {
            Json::Int(value) => *value,
            Json::Number(value) => *value as i128,
            Json::Bool(value) => i128::from(*value),
            other => panic!("expected an integer, found {other:?}"),
        }
    }

    pub(crate) fn float(&self) -> f64 {
        match self {
            Json::Int(value) => *value as f64,
            Json::Number(value) => *value,
            Json::Text(text) => text.parse().expect("a number in text"),
            other => panic!("expected a number, found {other:?}"),
        }
    }

    pub(crate) fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            other => panic!("expected a list, found {other:?}"),
        }
    }

    pub(crate) fn truth(&self) -> bool {
        *self == Json::Bool(true)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> u8 {
        while self.bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes[self.at]
    }

    fn eat(&mut self, c: u8) {
        assert_eq!(self.peek() as char, c as char, "at byte {}", self.at);
        self.at += 1;
    }

    fn word(&mut self, word: &str, value: Json) -> Json {
        assert!(self.bytes[self.at..].starts_with(word.as_bytes()), "at byte {}", self.at);
        self.at += word.len();
        value
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => Json::Text(self.string()),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self) -> Json {
        let mut map = BTreeMap::new();
        self.eat(b'{');
        while self.peek() != b'}' {
            self.peek();
            let key = self.string();
            self.eat(b':');
            map.insert(key, self.value());
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Json::Object(map)
    }

    fn list(&mut self) -> Json {
        let mut items = vec![];
        self.eat(b'[');
        while self.peek() != b']' {
            items.push(self.value());
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Json::List(items)
    }

    fn string(&mut self) -> String {
        self.eat(b'"');
        let mut out = vec![];
        loop {
            match self.bytes[self.at] {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    match self.bytes[self.at] {
                        b'n' => out.push(b'\n'),
                        b't' => out.push(b'\t'),
                        b'u' => {
                            let hex = std::str::from_utf8(&self.bytes[self.at + 1..self.at + 5]).expect("ascii");
                            let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).unwrap_or('?');
                            out.extend(c.to_string().bytes());
                            self.at += 4;
                        }
                        c => out.push(c),
                    }
                }
                c => out.push(c),
            }
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8(out).expect("UTF-8")
    }

    fn number(&mut self) -> Json {
        let start = self.at;
        while self.at < self.bytes.len()
            && matches!(self.bytes[self.at], b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E' | b'N' | b'a' | b'I' | b'n' | b'f' | b'i' | b't' | b'y')
        {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).expect("ascii");
        match text.parse() {
            Ok(value) => Json::Int(value),
            Err(_) => Json::Number(text.replace("Infinity", "inf").parse().expect("a number")),
        }
    }
}

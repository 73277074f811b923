//! JSON by chance: as a value, as its canonical form made the plain way, and as any text for it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use redrive::rng::SplitMix64;

/// JSON with names that differ, and numbers that are finite.
#[derive(Clone, Debug)]
pub enum Json {
    Word(&'static str),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

pub fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite()),
        (-1_000_000_i64..1_000_000).prop_map(|whole| whole as f64),
        (any::<i64>(), -30_i32..30).prop_map(|(digits, power)| digits as f64 * 10_f64.powi(power)),
        Just(-0.0),
    ]
}

pub fn text() -> impl Strategy<Value = String> {
    let symbol = prop_oneof![
        3 => proptest::sample::select(vec!['a', 'b', 'A', '1', ' ', 'é', '€', '😀', '\u{10FFFF}', '\u{E000}', '\u{FFFF}', '\u{D7FF}']),
        1 => proptest::sample::select(vec!['"', '\\', '/', '\u{8}', '\t', '\n', '\u{C}', '\r', '\0', '\u{1F}', '\u{7F}', '\u{2028}', '\u{FEFF}']),
        1 => any::<char>(),
    ];
    proptest::collection::vec(symbol, 0..6).prop_map(|symbols| symbols.into_iter().collect())
}

pub fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        proptest::sample::select(vec!["null", "true", "false"]).prop_map(Json::Word),
        number().prop_map(Json::Number),
        text().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            proptest::collection::btree_map(text(), inner, 0..6).prop_map(Json::Object),
        ]
    })
}

/// The canonical form as RFC 8785 tells it, step by step.
pub fn naive(json: &Json, out: &mut String) {
    let string = |text: &str, out: &mut String| {
        out.push('"');
        for symbol in text.chars() {
            match symbol {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{8}' => out.push_str("\\b"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\u{C}' => out.push_str("\\f"),
                '\r' => out.push_str("\\r"),
                '\0'..='\u{1F}' => out.push_str(&format!("\\u{:04x}", symbol as u32)),
                _ => out.push(symbol),
            }
        }
        out.push('"');
    };
    match json {
        Json::Word(word) => out.push_str(word),
        Json::Number(number) => out.push_str(ryu_js::Buffer::new().format_finite(*number)),
        Json::Text(text) => string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                naive(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<u16>>());
            out.push('{');
            for (at, name) in names.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                string(name, out);
                out.push(':');
                naive(&members[*name], out);
            }
            out.push('}');
        }
    }
}

/// One of the many ways to write the same JSON.
pub struct Scribe {
    chance: SplitMix64,
    /// Only decimals that a double holds as written.
    exact: bool,
    out: String,
}

impl Scribe {
    pub fn write(json: &Json, seed: u64, exact: bool) -> String {
        let mut scribe = Scribe { chance: SplitMix64::new(seed), exact, out: String::new() };
        scribe.space();
        scribe.value(json);
        scribe.space();
        scribe.out
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.chance.next_u32() % bound
    }

    fn space(&mut self) {
        for _ in 0..self.below(3) {
            let space = [' ', '\t', '\n', '\r'][self.below(4) as usize];
            self.out.push(space);
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for symbol in text.chars() {
            let short = match symbol {
                '"' | '\\' => Some(symbol),
                '/' => Some('/'),
                '\u{8}' => Some('b'),
                '\t' => Some('t'),
                '\n' => Some('n'),
                '\u{C}' => Some('f'),
                '\r' => Some('r'),
                _ => None,
            };
            let must = matches!(symbol, '"' | '\\' | '\0'..='\u{1F}');
            match (self.below(3), short) {
                (0, Some(letter)) => self.out.extend(['\\', letter]),
                (1 | 2, _) if !must => self.out.push(symbol),
                _ => {
                    for unit in symbol.encode_utf16(&mut [0; 2]) {
                        let digits =
                            if self.below(2) == 0 { format!("{unit:04x}") } else { format!("{unit:04X}") };
                        self.out.push_str("\\u");
                        self.out.push_str(&digits);
                    }
                }
            }
        }
        self.out.push('"');
    }

    fn number(&mut self, number: f64) {
        // A -0 loses its sign, so it is not exact.
        let number = if self.exact && number == 0.0 { 0.0 } else { number };
        let plain = ryu_js::Buffer::new().format_finite(number).to_owned();
        let written = match self.below(if self.exact { 4 } else { 7 }) {
            0 if plain.contains('e') => plain.replace('e', "E"),
            0 => format!("{plain}e0"),
            1 if plain.contains('e') => plain.replace('e', if plain.contains('.') { "00e" } else { ".0e" }),
            1 => format!("{plain}{}", if plain.contains('.') { "000" } else { ".0" }),
            2 | 3 => plain,
            4 => format!("{number}"),
            5 => format!("{number:?}"),
            _ => format!("{number:.20e}"),
        };
        self.out.push_str(&written);
    }

    fn value(&mut self, json: &Json) {
        match json {
            Json::Word(word) => self.out.push_str(word),
            Json::Number(number) => self.number(*number),
            Json::Text(text) => self.string(text),
            Json::Array(items) => {
                self.out.push('[');
                self.space();
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                        self.space();
                    }
                    self.value(item);
                    self.space();
                }
                self.out.push(']');
            }
            Json::Object(members) => {
                let mut left: Vec<(&String, &Json)> = members.iter().collect();
                self.out.push('{');
                self.space();
                while !left.is_empty() {
                    let (name, value) = left.swap_remove(self.below(left.len() as u32) as usize);
                    self.string(name);
                    self.space();
                    self.out.push(':');
                    self.space();
                    self.value(value);
                    self.space();
                    if !left.is_empty() {
                        self.out.push(',');
                        self.space();
                    }
                }
                self.out.push('}');
            }
        }
    }
}

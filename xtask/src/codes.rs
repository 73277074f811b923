//! The numbers that Rust and TypeScript share, printed from the core's enums as a TypeScript module.
//!
//! Every number is a constant of its own: the bundler puts it in where it is used, so none weighs more than its digits
//! and none that is not used weighs anything.

use std::fmt::Write as _;

use redrive::breaker::Circuit;
use redrive::calls::{Op, WORDS};
use redrive::classify::RetryDecision;
use redrive::codes::{CLASS_FAILED, ClassCode, ENDED, Gated, LET_IN, NextField, STORM, Said};
use redrive::gates::{Comeback, Entry, OnStorm, TASKS_PER_SUCCESS, WhenOpen};
use redrive::headers;
use redrive::outcome::{Flags, Outcome, Reason};
use redrive::policy::{ATTEMPTS, Field, JitterCode, StrategyCode};
use redrive::queue::{
    BATCH, CHANCE, Cancelled, Carry, Facts, Gate, LOOKED_AT, MOST_REFUNDS, NextKind, ReleaseCause,
};
use redrive::slots::{INDEX_MASK, NONE};

/// The numbers, in the order in which they are printed.
fn items() -> Vec<Item> {
    let mut out = Vec::new();
    number(&mut out, "\"None\" of a handle, and \"all\" where a lane is asked for.", "NONE", NONE);
    number(
        &mut out,
        "The part of a handle that is the index of its place; the rest tells it from handles that had the place before.",
        "SLOT_INDEX",
        INDEX_MASK,
    );
    number(
        &mut out,
        "So many actions a `poll` gives at most; after that many, more may wait.",
        "BATCH",
        BATCH as u32,
    );
    number(
        &mut out,
        "Due tasks of a lane among which the one with the fewest attempts tries its server out.",
        "LOOKED_AT",
        LOOKED_AT as u32,
    );
    number(
        &mut out,
        "Attempts given back per task, without those made offline; later ones count.",
        "MOST_REFUNDS",
        u32::from(MOST_REFUNDS),
    );
    number(
        &mut out,
        "The time after a hold of a lane in which none begins unless the lane was served since: a turn needs that long.",
        "CHANCE_MS",
        CHANCE.get() as u32,
    );
    constants(&mut out, "The calls of a queue.", "OP", Op::NAMES);
    number(&mut out, "The words of the longest of them that is not a policy's.", "WORDS", WORDS as u32);
    number(&mut out, "Attempts of a call, unless its policy says otherwise.", "DEFAULT_ATTEMPTS", ATTEMPTS);
    constants(&mut out, "How one attempt ended.", "OUTCOME", Outcome::NAMES);
    list(&mut out, "What follows an attempt: the answers of `settle`.", "NEXT_KINDS", NextKind::NAMES, snake);
    list(&mut out, "Why an attempt was given back.", "RELEASE_CAUSES", ReleaseCause::NAMES, snake);
    let facts = [
        ("STOPPED", Facts::STOPPED),
        ("HIDDEN", Facts::HIDDEN),
        ("FOREIGN", Facts::FOREIGN),
        ("PAUSED", Facts::PAUSED),
        ("UNSIGNED", Facts::UNSIGNED),
        ("MISSING", Facts::MISSING),
        ("LOST", Facts::LOST),
    ];
    for (at, (name, fact)) in facts.into_iter().enumerate() {
        let about = if at == 0 { "Facts about the end of an attempt, as bits." } else { "" };
        number(&mut out, about, &format!("FACT_{name}"), fact.bits());
    }
    number(&mut out, "An action from here on ends the task, with the reason of that number.", "ENDED", ENDED);
    number(&mut out, "An action: a caller at the door may send its first attempt.", "LET_IN", LET_IN);
    list(&mut out, "Why a task ended without success.", "REASONS", Reason::NAMES, snake);
    number(&mut out, "The bit of an action that tells of a retry storm.", "STORM", STORM);
    number(
        &mut out,
        "More tasks than this for each success are a retry storm.",
        "TASKS_PER_SUCCESS",
        TASKS_PER_SUCCESS,
    );
    constants(
        &mut out,
        "The answers of `classify`; from CLASS_FAILED on the failure is final.",
        "CLASS",
        ClassCode::NAMES,
    );
    number(&mut out, "", "CLASS_FAILED", CLASS_FAILED);
    constants(&mut out, "The answers of `cancel`.", "CANCEL", Cancelled::NAMES);
    constants(&mut out, "Whether a caller's first attempt may be sent.", "ENTRY", Entry::NAMES);
    list(
        &mut out,
        "What is done with awaited calls while a circuit is open.",
        "WHEN_OPEN",
        WhenOpen::NAMES,
        camel,
    );
    constants(&mut out, "The word of a user's hook on whether to try again.", "SAID", Said::NAMES);
    let flags =
        [("REPLAYABLE", Flags::REPLAYABLE), ("KEYED", Flags::KEYED), ("CREDENTIALED", Flags::CREDENTIALED)];
    for (at, (name, flag)) in flags.into_iter().enumerate() {
        let about = if at == 0 { "What is known of a request, as bits." } else { "" };
        number(&mut out, about, &format!("FLAG_{name}"), flag.bits());
    }
    number(
        &mut out,
        "The bit of a task's marks that says: its last attempt met a 401.",
        "MARK_UNAUTHORIZED",
        Carry::UNAUTHORIZED,
    );
    number(&mut out, "The bit that says: an attempt had no answer.", "MARK_UNANSWERED", Carry::UNANSWERED);
    number(
        &mut out,
        "The bit that says: a redirect has answered the request.",
        "MARK_SEE_OTHER",
        Carry::SEE_OTHER,
    );
    constants(&mut out, "Where the numbers of a `settle` lie.", "NEXT", NextField::NAMES);
    number(&mut out, "", "NEXT_COUNT", NextField::ALL.len() as u32);
    constants(&mut out, "Where the numbers of `gateStatus` and `gateOfLane` lie.", "GATED", Gated::NAMES);
    number(&mut out, "", "GATED_COUNT", Gated::ALL.len() as u32);
    list(&mut out, "What a task waits for.", "GATES", Gate::NAMES, kebab);
    constants(&mut out, "The states of a circuit breaker, and their names.", "CIRCUIT", Circuit::NAMES);
    list(&mut out, "", "CIRCUITS", Circuit::NAMES, constant);
    constants(&mut out, "What a retry storm does.", "ON_STORM", OnStorm::NAMES);
    constants(&mut out, "How a lane comes back.", "COMEBACK", Comeback::NAMES);
    constants(&mut out, "What becomes of a header.", "HEADER", headers::Class::NAMES);
    list(&mut out, "What the retry service decides.", "RETRY_DECISIONS", RetryDecision::NAMES, constant);
    list(
        &mut out,
        "The options of a policy that are numbers, in the order in which they cross.",
        "POLICY_FIELDS",
        Field::NAMES,
        camel,
    );
    list(&mut out, "", "STRATEGIES", StrategyCode::NAMES, snake);
    list(&mut out, "", "JITTERS", JitterCode::NAMES, constant);
    out
}

/// One or more constants, with what is said of them.
struct Item {
    about: String,
    name: String,
    value: Value,
}

enum Value {
    Number(u32),
    /// Words, each at its number.
    Words(Vec<String>),
}

fn item(out: &mut Vec<Item>, about: &str, name: &str, value: Value) {
    out.push(Item { about: about.to_owned(), name: name.to_owned(), value });
}

fn number(out: &mut Vec<Item>, about: &str, name: &str, number: u32) {
    item(out, about, name, Value::Number(number));
}

/// A constant for each variant, by its number.
fn constants(out: &mut Vec<Item>, about: &str, prefix: &str, names: &[&str]) {
    for (code, name) in names.iter().enumerate() {
        let about = if code == 0 { about } else { "" };
        number(out, about, &format!("{prefix}_{}", constant(name)), code as u32);
    }
}

/// The words of the contract for the variants, each at its number.
fn list(out: &mut Vec<Item>, about: &str, name: &str, names: &[&str], spell: fn(&str) -> String) {
    item(out, about, name, Value::Words(names.iter().map(|name| spell(name)).collect()));
}

/// A language that the numbers are printed for.
struct Language {
    head: &'static str,
    tail: &'static str,
    indent: &'static str,
    number: fn(&str, u32) -> String,
    words: fn(&str, &[String]) -> String,
    /// The presets, too, which JavaScript has in a table of its own.
    has_presets: bool,
}

const TYPESCRIPT: Language = Language {
    head: "// Printed by xtask from the core's enums: `npm run build` writes it. What each number means is said there.\n",
    tail: "",
    indent: "",
    number: |name, number| format!("export const {name} = {number}"),
    words: |name, words| format!("export const {name} = [{}] as const", quoted(words, '\'')),
    has_presets: false,
};

const GO: Language = Language {
    head: "// Code generated by xtask from the core's enums; `npm run build` writes it. DO NOT EDIT.\n\npackage redrive\n",
    tail: "",
    indent: "",
    number: |name, number| format!("const {} = {number}", camel_of(name)),
    words: |name, words| format!("var {} = []string{{{}}}", camel_of(name), quoted(words, '"')),
    has_presets: true,
};

const JAVA: Language = Language {
    head: "// Printed by xtask from the core's enums; `npm run build` writes it.\npackage dev.redrive;\n\nimport java.util.List;\n\nfinal class Codes {\n  private Codes() {}\n",
    tail: "}\n",
    indent: "  ",
    number: |name, number| {
        // beyond an int the number is one of 32 bits without a sign
        let kind = if i32::try_from(number).is_ok() { "int" } else { "long" };
        format!("static final {kind} {name} = {number}{};", if kind == "long" { "L" } else { "" })
    },
    words: |name, words| format!("static final List<String> {name} = List.of({});", quoted(words, '"')),
    has_presets: true,
};

/// The numbers for the language of a file, which its ending tells.
pub fn module(extension: &str) -> Option<String> {
    let language = match extension {
        "ts" => TYPESCRIPT,
        "go" => GO,
        "java" => JAVA,
        _ => return None,
    };
    let mut items = items();
    if language.has_presets {
        list(
            &mut items,
            "The presets, each at its number.",
            "PRESETS",
            redrive_core::PRESET_NAMES,
            str::to_owned,
        );
    }
    let mut out = String::from(language.head);
    for Item { about, name, value } in &items {
        let Language { indent, number, words, .. } = language;
        if about.is_empty() && matches!(value, Value::Words(_)) {
            // as gofmt has it
            out.push_str(if extension == "go" { "\n" } else { "" });
        } else if !about.is_empty() {
            let (open, close) = if extension == "go" { ("//", "") } else { ("/**", " */") };
            let _ = write!(out, "\n{indent}{open} {about}{close}\n");
        }
        let line = match value {
            Value::Number(code) => number(name, *code),
            Value::Words(list) => words(name, list),
        };
        let _ = writeln!(out, "{indent}{line}");
    }
    out.push_str(language.tail);
    Some(out)
}

fn quoted(words: &[String], mark: char) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{mark}{word}{mark}")).collect();
    words.join(", ")
}

/// `NEXT_DUE_AT` as `nextDueAt`.
fn camel_of(name: &str) -> String {
    let mut words = name.split('_').map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    words.fold(first, |all, word| {
        let (initial, rest) = word.split_at(1);
        all + &initial.to_ascii_uppercase() + rest
    })
}

/// `InFlight` as words with `between` them, in lower case.
fn words(name: &str, between: char) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push(between);
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn snake(name: &str) -> String {
    words(name, '_')
}

fn kebab(name: &str) -> String {
    words(name, '-')
}

fn constant(name: &str) -> String {
    words(name, '_').to_ascii_uppercase()
}

fn camel(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_lowercase() + rest
}

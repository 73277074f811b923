//! The numbers that Rust and TypeScript share, printed from the core's enums as a TypeScript module.
//!
//! Every number is a constant of its own: the bundler puts it in where it is used, so none weighs more than its digits
//! and none that is not used weighs anything.

use std::fmt::Write as _;

use redrive::breaker::Circuit;
use redrive::classify::RetryDecision;
use redrive::codes::{CLASS_FAILED, ClassCode, ENDED, Gated, LET_IN, NextField, STORM, Said};
use redrive::gates::{Comeback, Entry, OnStorm, WhenOpen};
use redrive::headers;
use redrive::outcome::{Flags, Outcome, Reason};
use redrive::policy::{Field, JitterCode, StrategyCode};
use redrive::queue::{
    BATCH, CHANCE, Cancelled, Carry, Facts, Gate, LOOKED_AT, MOST_REFUNDS, NextKind, ReleaseCause,
};
use redrive::slots::{INDEX_MASK, NONE};

/// The module.
pub fn module() -> String {
    let mut out = String::from(
        "// Printed by xtask from the core's enums: `npm run build` writes it. What each number means is said there.\n",
    );
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

fn about(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = write!(out, "\n/** {text} */\n");
    }
}

fn number(out: &mut String, text: &str, name: &str, number: u32) {
    about(out, text);
    let _ = writeln!(out, "export const {name} = {number}");
}

/// A constant for each variant, by its number.
fn constants(out: &mut String, text: &str, prefix: &str, names: &[&str]) {
    about(out, text);
    for (code, name) in names.iter().enumerate() {
        let _ = writeln!(out, "export const {prefix}_{} = {code}", constant(name));
    }
}

/// The words of the contract for the variants, each at its number.
fn list(out: &mut String, text: &str, name: &str, names: &[&str], spell: fn(&str) -> String) {
    about(out, text);
    let words: Vec<String> = names.iter().map(|name| format!("'{}'", spell(name))).collect();
    let _ = writeln!(out, "export const {name} = [{}] as const", words.join(", "));
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

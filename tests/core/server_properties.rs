//! What servers say in headers, tried on dates, lists and noise of every kind.

use crate::common::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use redrive::asked::{Asked, said};
use redrive::ratelimit::{RateLimit, parse_rate_limit};
use redrive::retry_after::{parse_retry_after, parse_retry_after_ms};
use redrive::time::Millis;

const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The last second of year 9999.
const LAST: u64 = 253_402_300_799;

/// A second after 1970 as year, month from 0, day and weekday from Thursday: counted off year
/// by year and month by month, as on a wall calendar.
fn calendar(second: u64) -> (u64, usize, u64, usize) {
    let is_in = |year: u64, cycle: u64| year.is_multiple_of(cycle);
    let leap = |year| is_in(year, 400) || (is_in(year, 4) && !is_in(year, 100));
    let all = second / 86_400;
    let (mut days, mut year) = (all, 1970);
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1, usize::try_from(all % 7).unwrap())
}

/// The three forms of a date, `weekday` being wrong by so many days.
fn render(second: u64, form: u8, weekday: usize) -> String {
    let (year, month, day, of_week) = calendar(second);
    let (name, month) = (DAYS[(of_week + weekday) % 7], MONTHS[month]);
    let time = format!("{:02}:{:02}:{:02}", second / 3600 % 24, second / 60 % 60, second % 60);
    match form {
        0 => format!("{}, {day:02} {month} {year:04} {time} GMT", &name[..3]),
        1 => format!("{name}, {day:02}-{month}-{:02} {time} GMT", year % 100),
        2 => format!("{} {month} {day:2} {time} {year:04}", &name[..3]),
        _ => format!("{} {month} {day:02} {time} {year:04}", &name[..3]),
    }
}

/// One member of a joined `Retry-After`, usable or not.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u64..100_000).prop_map(|seconds| seconds.to_string()),
        "[0-9]{1,30}",
        (1_700_000_000_u64..1_900_000_000, 0_u8..4, 0_usize..7)
            .prop_map(|(second, form, weekday)| render(second, form, weekday)),
        "[ -+.-~]{0,12}",
        Just("Sat".to_owned()),
        Just(String::new()),
    ]
}

/// A parameter that means nothing, well-formed. Its key never is `r`, `t` or `pk`.
fn comment() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(String::new()),
        "=-?[0-9]{1,15}",
        r"=-?[0-9]{1,12}\.[0-9]{1,3}",
        r#"="([ !#-\[\]-~]|\\"|\\\\){0,6}""#,
        "=[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]{0,6}",
        "=:([A-Za-z0-9+/]{4}){0,3}([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?:",
        r"=\?[01]",
        "=@-?[0-9]{1,15}",
        ".{0,5}".prop_map(|text| format!("=%\"{}\"", percent(text.as_bytes()))),
    ];
    let key = "[*a-qsu-z][a-z0-9_.*-]{0,4}".prop_filter("a partition's", |key| key != "pk");
    (key, value).prop_map(|(key, value)| format!("{key}{value}"))
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

/// A service limit and how it is written: parameters in any order, some of them twice.
fn limit() -> impl Strategy<Value = (u64, Option<u64>, String)> {
    let name = r#""([ !#-\[\]-~]|\\"|\\\\){0,6}""#;
    let remaining = prop_oneof![0_u64..4, 0_u64..1_000_000_000_000_000];
    let reset = proptest::option::of(prop_oneof![0_u64..4, 0_u64..1_000_000_000_000_000]);
    let comments = vec(comment(), 0..4);
    (name, remaining, reset, comments, any::<[bool; 3]>()).prop_map(
        |(name, remaining, reset, comments, [swap, early, spaced])| {
            let mut parameters = comments;
            if early {
                parameters.insert(0, "r=x;r=1;t=-1;t=7".to_owned()); // overruled by what follows
            }
            let mut own = vec![format!("r={remaining}")];
            match reset {
                Some(reset) => own.push(format!("t={reset}")),
                None if early => own.push("t=0".to_owned()),
                None => {}
            }
            if swap {
                own.reverse();
            }
            parameters.extend(own);
            let glue = if spaced { ";  " } else { ";" };
            let reset = if early { reset.or(Some(0)) } else { reset };
            (remaining, reset, format!("{name}{glue}{}", parameters.join(glue)))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn s9_every_form_of_any_instant_is_that_instant(
        second in 0..=LAST, form in 0_u8..4, weekday in 0_usize..7, away in -1_577_000_000_i64..1_577_000_000,
    ) {
        // Within 50 years, a year of two digits can only mean this one.
        let reference = second.saturating_add_signed(away).min(LAST);
        let text = render(second, form, weekday);
        let got = parse_retry_after(text.as_bytes(), None, Millis::new(reference * 1000));
        let expected = second.saturating_sub(reference) * 1000;
        prop_assert_eq!(got, Some(Millis::new(expected)), "{}", text);
        // Against the server's own Date the local clock does not matter, but for the century.
        let date = render(reference, form, 0);
        let got = parse_retry_after(text.as_bytes(), Some(date.as_bytes()), Millis::new(reference * 1000 + 999));
        prop_assert_eq!(got, Some(Millis::new(expected)), "{} {}", text, date);
        if form != 1 {
            let got = parse_retry_after(text.as_bytes(), Some(date.as_bytes()), Millis::MAX);
            prop_assert_eq!(got, Some(Millis::new(expected)), "{} {}", text, date);
        }
    }

    #[test]
    fn s9_digits_are_seconds_or_milliseconds_up_to_the_last_number(
        n in prop_oneof![0..100_000_u64, any::<u64>()], zeros in 0_usize..30, more in "[0-9]{0,5}",
    ) {
        let text = format!("{:0<zeros$}{n}", "");
        prop_assert_eq!(
            parse_retry_after(text.as_bytes(), None, Millis::ZERO).map(Millis::get),
            Some(n.saturating_mul(1000).min(1 << 53)),
        );
        prop_assert_eq!(parse_retry_after_ms(text.as_bytes()).map(Millis::get), Some(n.min(1 << 53)));
        let fraction = format!("{text}.{more}");
        let up = u64::from(more.bytes().any(|digit| digit != b'0'));
        let expected = (!more.is_empty()).then_some(n.saturating_add(up).min(1 << 53));
        prop_assert_eq!(parse_retry_after_ms(fraction.as_bytes()).map(Millis::get), expected);
        let digits = format!("{more:0<5}")[..5].parse::<u64>().unwrap();
        let expected = (!more.is_empty()).then_some(n.saturating_mul(1000).saturating_add(digits.div_ceil(100)).min(1 << 53));
        prop_assert_eq!(parse_retry_after(fraction.as_bytes(), None, Millis::ZERO).map(Millis::get), expected);
    }

    #[test]
    fn noise_never_panics_and_never_asks_for_more_than_can_be_counted(
        header in vec(any::<u8>(), 0..80), date in vec(any::<u8>(), 0..40), now in any::<u64>(),
    ) {
        let now = Millis::new(now);
        for header in [&header, &date] {
            let names = ["retry-after", "retry-after-ms", "retry-after-a", "ratelimit", "x-ratelimit-reset", "date"];
            let lines: Vec<&[u8]> = names.iter().flat_map(|name| [name.as_bytes(), b":", header, b"\n"]).collect();
            if let Asked::Wait(wait) = said(&lines.concat(), 429, true, now).delay {
                prop_assert!(wait <= Millis::MAX);
            }
        }
    }

    #[test]
    fn s9_a_damaged_date_is_another_date_to_the_letter_or_none(
        second in 0..=LAST, form in 0_u8..4, at in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), b'0'..=b'9', Just(b' ')],
    ) {
        let mut text = render(second, form, 0).into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let Some(wait) = parse_retry_after(&text, None, Millis::ZERO) else { return Ok(()) };
        // A comma makes two values of one, and a leap second is written only by hand.
        if wait > Millis::ZERO && byte != b',' && !text.windows(3).any(|part| part == b":60") {
            let second = wait.get() / 1000;
            let written = (0..4).any(|form| (0..7).any(|day| render(second, form, day).as_bytes() == text));
            prop_assert!(written, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn s9_of_several_values_the_largest_that_is_valid_alone(
        members in vec(member(), 0..8), glue in "[ \t]{0,2},[ \t]{0,2}", now in 1_700_000_000_u64..1_900_000_000,
    ) {
        let now = Millis::new(now * 1000);
        // None of these members is the second half of a date.
        let singly = members.iter().filter_map(|value| parse_retry_after(value.as_bytes(), None, now)).max();
        prop_assert_eq!(parse_retry_after(members.join(&glue).as_bytes(), None, now), singly, "{:?}", members);
        let ms = members.iter().filter_map(|value| parse_retry_after_ms(value.as_bytes())).max();
        prop_assert_eq!(parse_retry_after_ms(members.join(&glue).as_bytes()), ms, "{:?}", members);
    }

    #[test]
    fn of_two_headers_one_is_asked(
        seconds in proptest::option::of(member()), ms in proptest::option::of(member()), now in any::<u64>(),
    ) {
        let now = Millis::new(now);
        let line = |name: &str, value: &Option<String>| value.as_ref().map_or(String::new(), |value| format!("{name}:{value}\n"));
        let lines = line("retry-after", &seconds) + &line("retry-after-ms", &ms);
        let (seconds, ms) = (seconds.as_deref().map(str::as_bytes), ms.as_deref().map(str::as_bytes));
        let usable = ms.and_then(parse_retry_after_ms);
        let usable = usable.or(seconds.and_then(|seconds| parse_retry_after(seconds, None, now)));
        let expected = match (usable, seconds, ms) {
            (Some(wait), ..) => Asked::Wait(wait),
            (None, None, None) => Asked::Nothing,
            _ => Asked::Unusable,
        };
        prop_assert_eq!(said(lines.as_bytes(), 500, true, now).delay, expected);
    }

    #[test]
    fn rate_limits_written_are_rate_limits_read(
        limits in vec(limit(), 1..5), glue in "[ \t]{0,2},[ \t]{0,2}",
        at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let written: Vec<&str> = limits.iter().map(|(_, _, text)| text.as_str()).collect();
        let header = written.join(&glue);
        let least = limits.iter().map(|limit| limit.0).min().unwrap();
        let reset = limits.iter().filter(|limit| limit.0 == least).filter_map(|limit| limit.1).max();
        let reset = reset.map(|seconds| Millis::new(seconds * 1000));
        let expected = Some(RateLimit { remaining: least, reset, partitioned: false });
        prop_assert_eq!(parse_rate_limit(header.as_bytes()), expected, "{}", header);

        // Damaged or cut short it is read or ignored, and never more is left than 15 digits.
        let mut damaged = header.into_bytes();
        let at = at.index(damaged.len());
        let cut = parse_rate_limit(&damaged[..at]);
        damaged[at] = byte;
        for got in [cut, parse_rate_limit(&damaged)].into_iter().flatten() {
            prop_assert!(got.remaining < 1_000_000_000_000_000);
        }
    }

    #[test]
    fn display_strings_are_utf_8(octets in vec(
        prop_oneof![any::<u8>(), 0x80_u8..=0xBF, Just(0xE0), Just(0xED), Just(0xF0), Just(0xF4)], 0..6,
    )) {
        let header = format!("\"a\";r=1;x=%\"{}\"", percent(&octets));
        let is_text = std::str::from_utf8(&octets).is_ok();
        prop_assert_eq!(parse_rate_limit(header.as_bytes()).is_some(), is_text, "{}", header);
    }
}

/// A megabyte of what asks most of a parser. One that looks again at what it has seen, for every
/// comma or quote, would take minutes for each.
#[test]
fn a_megabyte_of_malice_is_read_at_once() {
    const LENGTH: usize = 1 << 20;
    let kinds = [
        ",",
        " ",
        "\t,",
        ", ",
        "1",
        "1,",
        "1.",
        "0.0,",
        "Sat, ",
        "Sat,",
        "Saturday, 21-Nov-26 08:02:00 GMT, ",
        "Sat, 21 Nov 2026 08:02:00 GMT,",
        "Sat Nov 21 08:02:00 2026,",
        "Sat, 21 Nov 2026 08:02:00 GM",
        "\"",
        "\"a\"",
        "\"a\";r=1,",
        "\"a\";r=1;t=2, ",
        "\"a\";r=1 ",
        "\"a\";",
        ";",
        "; ",
        "x;",
        "=",
        ":",
        "%",
        "%\"",
        "@",
        "(",
        "\\\"",
        "\\",
        "9",
        "-",
        "\u{FF}",
    ];
    let beginnings = [
        "",
        "\"a\";r=1;x=",
        "\"a\";r=1;x=%\"",
        "\"a\";r=1;x=:",
        "\"a\";r=1;x=\"",
        "\"a\";r=1;",
        "\"a\";r=1,",
        "1,",
        "Sat,",
    ];
    let date = "Sat, ".repeat(LENGTH / 5);
    let read = |lines: &str| said(lines.as_bytes(), 429, true, Millis::ZERO);
    for beginning in beginnings {
        for kind in kinds {
            let header = format!("{beginning}{}", kind.repeat(LENGTH / kind.len()));
            read(&format!(
                "date:{date}\nretry-after:{header}\nretry-after-ms:{header}\nratelimit:{header}\nratelimit-reset:{header}"
            ));
        }
    }
    for line in ["\n", ":\n", "retry-after\n", "retry-after:1\n", "ratelimit-reset:1\n", "ratelimit:\n", "1m"]
    {
        read(&line.repeat(LENGTH / line.len()));
        read(&format!("ratelimit-reset:{}", line.repeat(LENGTH / line.len())));
    }
    let many = format!("{}1", "\"a\";r=2;x=\"y\",".repeat(LENGTH / 15).replace("r=2", "r=7"));
    assert_eq!(parse_rate_limit(many.as_bytes()), None, "the fault at the very end counts");
    let many = format!("{}\"b\";r=3", "\"a\";r=7,".repeat(LENGTH / 8));
    assert_eq!(
        parse_rate_limit(many.as_bytes()),
        Some(RateLimit { remaining: 3, reset: None, partitioned: false })
    );
    let many = format!("{}7", ", ".repeat(LENGTH / 2));
    assert_eq!(parse_retry_after(many.as_bytes(), None, Millis::ZERO), Some(Millis::new(7000)));
}

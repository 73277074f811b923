//! The calls, by their numbers. An argument that is not given is NaN, which stands for none.

macro_rules! ops {
    ($($(#[$about:meta])* $variant:ident = $code:literal,)+) => {
        /// A call. Behind each name stand its arguments and, after an arrow, the numbers of its answer. Handles are whole
        /// numbers, 4294967295 is none; a truth is 0 or 1; durations and instants are ms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Op { $($(#[$about])* $variant = $code,)+ }

        impl Op {
            /// Every call, in the order of their numbers.
            pub const ALL: &[Op] = &[$(Op::$variant,)+];

            /// Their names.
            pub const NAMES: &[&str] = &[$(stringify!($variant),)+];
        }
    };
}

ops! {
    /// concurrency, perLane, capacity, capacityBytes, maxLaneHoldMs, seedHigh, seedLow: begins anew with an empty queue. The halves of the
    /// seed are random numbers of 32 bits; with the same seed and the same calls a queue answers the same.
    New = 0,
    /// A policy's row -> handle. None, and the length of a text that says what is wrong. The row has the numbers of
    /// `policy::Field`, the lengths of two lists, and the lists: delays, status codes. A length of NaN: no list.
    Policy = 1,
    /// policy.
    ReleasePolicy = 2,
    /// -> lane.
    Lane = 3,
    /// lane -> whether it was forgotten: nothing waits, runs or is held there.
    DropLane = 4,
    /// -> order; none: there are too many.
    OpenOrder = 5,
    /// order -> whether it was forgotten.
    DropOrder = 6,
    /// policy, outcome, status, flags, asked -> class of a caller's own first attempt.
    Classify = 7,
    /// now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, startedAt -> slot; none: full. A caller's own
    /// first attempt that has just failed began at `startedAt`, and [`Op::Settle`] follows at once; NaN: there was none.
    Admit = 8,
    /// now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, partitioned, said, delayMs, asked, replayed, facts,
    /// reason -> kind, and the numbers of `codes::NextField`.
    Settle = 9,
    /// now -> count, and as many pairs: a handle and its action. While the count is 256, poll again.
    Poll = 10,
    /// -> when to poll again; Infinity: nothing waits for time.
    WakeAt = 11,
    /// slot -> how it was cancelled.
    Cancel = 12,
    /// lane; none: all.
    Pause = 13,
    /// now, lane; none: all.
    Resume = 14,
    /// now, online.
    SetOnline = 15,
    /// now, lane; none: all -> how many are due now.
    Flush = 16,
    /// -> tasks held, waiting or in flight.
    Depth = 17,
    /// now -> depth, inFlight, nextAttemptAt (NaN: none), unusableRetryAfter, lanes; and of each: lane, depth, inFlight, heldUntilAt, shutUntilAt
    /// (NaN: not), circuit, tokens.
    Stats = 18,
    /// Nine or ten numbers: fairShare, afterMs, openMs, maxOpenMs, storm, capacity, perSuccess, perSecond, comeback, exactAlone; NaN: the default.
    Gates = 19,
    /// whenOpen.
    SetWhenOpen = 20,
    /// now, lane, waitUntil, early -> entry: whether a caller's first attempt may be sent.
    Call = 21,
    /// now, lane, policy, priority, createdAt, expiresAt, waitUntil -> slot at the door; none: full.
    Stand = 22,
    /// now, lane -> whether a caller's first attempt may start.
    Admits = 23,
    /// lane, now -> circuit.
    Circuit = 24,
    /// now, lane, policy, began, outcome, status, serverDelayMs, durationMs, rateLimitMs, partitioned, said, onlyHold: a caller's own
    /// attempt that made no task.
    Heard = 25,
    /// now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, firstAttemptAt, attempts, refunds, phase, previousDelayMs,
    /// marks, startedAt, deadlineAt, deadlineReason -> slot of a task that its store has leased.
    Adopt = 26,
    /// now, lane: a task was enqueued there.
    Visit = 27,
    /// now, lane, ms.
    Hold = 28,
    /// A preset's number, of [`crate::PRESET_NAMES`] -> its row; 0 numbers: there is none.
    Preset = 29,
    /// attempt, r32, phase, previousDelayMs, a policy's row -> ms of the wait before that retry.
    Delay = 30,
    /// text: header lines, each a name in lower case, a colon and a value; length, status, failed, now -> delayMs (-1 unusable, NaN
    /// nothing), limitMs, partitioned, asks. `date` and lines that hold `retry-after`, `ratelimit` or `rate-limit` are enough.
    Said = 31,
    /// text: names to keep, names to deny, each joined by line feeds; their lengths -> 1; 0: the text names the wrong one.
    HeaderRules = 32,
    /// text: names joined by line feeds; length -> a class for each.
    Headers = 33,
    /// text: values joined by line feeds; length -> for each whether it looks like a secret.
    Secrets = 34,
    /// text: URL; length -> length of the URL without its secrets.
    StripSecrets = 35,
    /// text: URL; length -> length of its normal form; none: not absolute http or https.
    Normalize = 36,
    /// text: method, URL, content type, principal, scope, nonce, secret, body; hasPrincipal and their eight lengths -> length of the
    /// key in hex; none: no URL or method.
    ContentKey = 37,
    /// text: method, URL, content type, body; their lengths -> length of the fingerprint in hex; none: as above.
    Fingerprint = 38,
    /// text: JSON; length -> length of its canonical form; none: it is no JSON.
    CanonicalJson = 39,
    /// text; length -> ms of a duration such as `12.5s`; NaN: it is none.
    Duration = 40,
    /// now, lane, slot? -> wakeAt, depth, inFlight, room, shutUntil, vacancies, and of a slot its gate's numbers: a line of the trace.
    State = 41,
}

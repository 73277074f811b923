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
    /// now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, startedAt, seenAt -> slot, dueAt. No slot: full. No
    /// `dueAt`: not before others of its order. A caller's own first attempt that has just failed began at `startedAt`, and
    /// [`Op::Settle`] follows at once; NaN: there was none. Not with an order. Of a dead letter that goes back its server may have seen the
    /// key at `seenAt`.
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
    /// now, lane -> whether a caller's first attempt may start, whatever is done with those that may not: half-open it is the probe.
    Admits = 23,
    /// lane, now -> the state of its circuit.
    Circuit = 24,
    /// now, lane, policy, began, outcome, status, serverDelayMs, durationMs, rateLimitMs, partitioned, said, onlyHold: a caller's own
    /// attempt that made no task.
    Heard = 25,
    /// now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, firstAttemptAt, attempts, refunds, phase, previousDelayMs,
    /// marks, startedAt, deadlineAt, deadlineReason -> slot of a task that its store has leased.
    Adopt = 26,
    /// now, lane: a task was enqueued there; where the lane is asked with pauses, an extra attempt may go.
    Visit = 27,
    /// now, lane, ms: holds a lane for so long from now, no shorter than it is held already; 0 or NaN: nothing.
    Hold = 28,
    /// A preset's number, of `PRESET_NAMES` -> its row; 0 numbers: there is none.
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
    /// lane, now -> until when a server's delay or rate limit holds the lane; 0: it does not.
    HeldUntil = 42,
    /// lane, now -> until when a lane starts nothing of a store's for its open breaker, its empty budget or a hold that its store does not
    /// know of; 0: as far as the clock decides, it does. Infinity: no time ends it.
    ShutUntil = 43,
    /// slot, now -> the numbers of `codes::Gated`: the gate that holds a task; 0 numbers: there is no such task.
    GateOfTask = 44,
    /// lane, now, isRetry -> as above, of a due task of a store in that lane; lane none: the gate that all lanes share.
    GateOfLane = 45,
    /// count, bytes: dead letters that the host keeps. They take room from the next [`Op::Admit`] on.
    KeepDead = 46,
    /// slot, policy: puts a task whose caller waits no longer under another policy.
    HandOver = 47,
    /// -> attempts of the queue that run, those of leased tasks too.
    InFlight = 48,
    /// comeback: how lanes come back.
    SetComeback = 49,
    /// now, concurrency, perLane.
    SetLimits = 50,
    /// perSecond, burst: each lane that is opened from now on starts so many attempts a second, and after a pause `burst` at once.
    Rate = 51,
    /// now, lane -> whether a retry that this queue does not make itself may go now: its circuit is closed, and its budget has paid.
    Pays = 52,
    /// now, lane -> whether a caller's own first attempt has a place among those that count; then [`Op::LeaveOwn`] must follow.
    EnterOwn = 53,
    /// now, lane, enteredAt, sent: such an attempt has ended, or was not sent after all.
    LeaveOwn = 54,
    /// lane, now -> since when its circuit has not been closed (NaN: it is closed), and until when it lets nothing through (NaN: no time is known).
    Opening = 55,
    /// lane, waitUntil -> whether the caller of a stored task is not to wait any longer: the circuit is open.
    EndsWait = 56,
    /// now, lane -> how many more attempts may start there, as far as the lane has a say.
    Room = 57,
    /// now, lane -> how many first attempts may start there: they cost no token.
    RoomForFirst = 58,
    /// -> how many more may start over all lanes; 0 while everything is paused.
    Vacancies = 59,
    /// now, lane -> whether the next attempt there is to show how its server does: the due task with the fewest attempts is to make it.
    TriesOut = 60,
    /// now, lane, ms: the store of the lane keeps its hold, for so long from now; 0 or NaN: it knows of the hold that is known here.
    ShareHold = 61,
    /// now, lane, policy, flags, began, answeredAt, waitUntil -> until when a caller's own attempt goes on, whose limit, the default, is over: its server
    /// answers no one, or is slow. 0: it is given up. `answeredAt`: when the host last had an answer of that server; 0: never.
    Lasts = 62,
    /// now, slot, began, limit -> until when an attempt of a task goes on, whose limit of so many milliseconds, the default, is over: one before it
    /// had no answer, or its server is slow. 0: it is given up.
    Extends = 63,
}

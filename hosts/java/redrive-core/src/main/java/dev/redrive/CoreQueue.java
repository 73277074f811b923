package dev.redrive;

import static dev.redrive.Codes.*;

import dev.redrive.Core.Calls;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A queue of the core in the words of this library: the order of arguments and answers is known here, and nothing is decided. It belongs to the
 * thread of the core, but for {@link #knows} and {@link #rulesOf}.
 */
final class CoreQueue {
  /** Past this many, lanes in which nothing is remembered are dropped. */
  private static final int SWEEP_AT = 1_000;
  private static final double NOT_GIVEN = Double.NaN;
  private static final double NEVER = Double.POSITIVE_INFINITY;
  /** What an answer says of when to come again: nothing. */
  private static final double[] NOTHING = {NOT_GIVEN, NOT_GIVEN, 0, 0};

  final Core core = new Core();
  private final RetryPolicy policy;
  private final RetryPolicy deferredPolicy;
  private final double policyHandle;
  private final double deferredHandle;
  private final Map<String, Double> lanes = new ConcurrentHashMap<>();
  private final Map<Double, String> origins = new HashMap<>();
  private int sweepAt = SWEEP_AT;

  /** The end of an attempt. `said`: the numbers of {@link Codes#OP_SAID}. */
  record End(int outcome, int status, double startedAt, double endedAt, double[] said, boolean isReplayed) {
    private boolean isUnusable() {
      return said[0] < 0;
    }

    private double delayMs() {
      return isUnusable() ? NOT_GIVEN : said[0];
    }

    double tookMs() {
      return endedAt - startedAt;
    }
  }

  CoreQueue(QueueBuilder options) {
    policy = options.policy;
    deferredPolicy = options.deferredPolicy;
    core.run(new Calls()
        .add(OP_NEW, options.concurrency, options.perOrigin, options.capacity, options.capacityBytes, options.maxLaneHold.toMillis(),
            options.seed >>> 32, options.seed & 0xffffffffL)
        .add(OP_GATES, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, ON_STORM_TELL, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, COMEBACK_OF_FEW, 1)
        .add(OP_SET_WHEN_OPEN, WHEN_OPEN.indexOf("wait")));
    policyHandle = intern("policy", policy);
    deferredHandle = intern("deferredPolicy", deferredPolicy);
  }

  private double intern(String option, RetryPolicy given) {
    double[] answer = core.run(OP_POLICY, given.row());
    if (answer[0] != NONE) return answer[0];
    String[] words = Core.string(core.text(answer[1])).split(": ", 2);
    throw new OptionException(option + "." + words[0], words[1]);
  }

  RetryPolicy rulesOf(Call<?> call) {
    return call.isDeferred ? deferredPolicy : policy;
  }

  /** Whether anything is remembered of an origin: of one whose calls have all gone well nothing is. On any thread. */
  boolean knows(String origin) {
    return lanes.containsKey(origin);
  }

  /** The lane of an origin. */
  double lane(String origin) {
    Double known = lanes.get(origin);
    if (known != null) return known;
    if (lanes.size() >= sweepAt) {
      lanes.values().removeIf(lane -> core.run(OP_DROP_LANE, lane)[0] == 1 && origins.remove(lane) != null);
      // when most are in use, look again only after as many more
      sweepAt = Math.max(SWEEP_AT, lanes.size() * 2);
    }
    double lane = core.run(OP_LANE)[0];
    lanes.put(origin, lane);
    origins.put(lane, origin);
    return lane;
  }

  String origin(double lane) {
    return origins.get(lane);
  }

  boolean isCircuitClosed(double lane, double now) {
    return core.run(OP_CIRCUIT, lane, now)[0] == CIRCUIT_CLOSED;
  }

  /** Until when the circuit of a lane lets nothing through; null: no time is known. */
  Instant openUntil(double lane, double now) {
    return instant(core.run(OP_OPENING, lane, now)[1]);
  }

  /** ENTRY_*: whether a caller's first attempt may be sent. */
  int entry(Call<?> call, double now) {
    return (int) core.run(OP_CALL, now, call.lane, call.waitUntil, 0)[0];
  }

  /** Puts a caller at the door: its handle, or NONE. */
  long stand(Call<?> call, double now) {
    return (long) core.run(OP_STAND, now, call.lane, policyHandle, 0, call.createdAt, NEVER, call.waitUntil)[0];
  }

  /** Takes a call: its handle, or NONE. `startedAt`: when its caller's own attempt began that has just ended; NaN: there was none. */
  long admit(Call<?> call, double now, double startedAt) {
    double handle = call.isDeferred ? deferredHandle : policyHandle;
    return (long) core.run(OP_ADMIT, now, call.lane, handle, 0, call.request.bodyBytes(), call.request.flags(), call.createdAt, NEVER, call.patience(),
        NONE, startedAt)[0];
  }

  /** Until when an attempt of a task goes on, whose limit is over: one before it had no answer. 0: it is given up. */
  double extend(Call<?> call, double now, AttemptContext context) {
    return core.run(OP_EXTENDS, now, call.slot, context.startedAt, context.limitMs)[0];
  }

  /** Until when a caller's own attempt goes on, whose limit is over: its server, which answered last at `answeredAt`, answers no call. 0: it is given up. */
  double lasts(Call<?> call, double now, double startedAt, double answeredAt) {
    return core.run(OP_LASTS, now, call.lane, policyHandle, call.request.flags(), startedAt, answeredAt, call.waitUntil)[0];
  }

  /** Whether the end of a caller's own first attempt is worth another. */
  boolean isTransient(Call<?> call, End end) {
    return core.run(OP_CLASSIFY, policyHandle, end.outcome, end.status, call.request.flags(), end.said[3])[0] == CLASS_RETRY;
  }

  /** CANCEL_*. */
  int cancel(Call<?> call) {
    return (int) core.run(OP_CANCEL, call.slot)[0];
  }

  /** What an answer says of when to come again. */
  double[] said(Answer<?> answer, RetryPolicy rules, double now) {
    if (answer == null) return NOTHING;
    boolean failed = rules.fails(answer.status());
    String lines = answer.waitLines(failed);
    return lines.isEmpty() ? NOTHING : core.runText(OP_SAID, Core.bytes(lines), answer.status(), failed ? 1 : 0, now);
  }

  /** The report of a caller's own attempt that makes no task. */
  Calls heard(Call<?> call, End end) {
    return new Calls().add(OP_HEARD, end.endedAt, call.lane, policyHandle, end.startedAt, end.outcome, end.status, end.delayMs(), end.tookMs(),
        end.said[1], end.said[2], SAID_NOTHING, 0);
  }

  /** The report of a task's attempt. */
  Calls settle(Call<?> call, End end) {
    return new Calls().add(OP_SETTLE, end.endedAt, call.slot, end.outcome, end.status, end.delayMs(), end.tookMs(), end.said[1], end.isUnusable() ? 1 : 0,
        end.said[2], SAID_NOTHING, NOT_GIVEN, end.said[3], end.isReplayed ? 1 : 0, 0, NONE);
  }

  QueueStats stats(double now) {
    double[] numbers = core.run(OP_STATS, now);
    List<QueueStats.Origin> each = new ArrayList<>();
    for (int at = 5; at < numbers.length; at += 7) {
      each.add(new QueueStats.Origin(origin(numbers[at]), (int) numbers[at + 1], (int) numbers[at + 2], instant(numbers[at + 3]), instant(numbers[at + 4]),
          CIRCUITS.get((int) numbers[at + 5]), numbers[at + 6]));
    }
    return new QueueStats((int) numbers[0], (int) numbers[1], instant(numbers[2]), (long) numbers[3], List.copyOf(each));
  }

  private static Instant instant(double epochMs) {
    return Double.isFinite(epochMs) ? Instant.ofEpochMilli((long) epochMs) : null;
  }
}

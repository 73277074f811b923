package dev.redrive;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The options of a queue, with their defaults. A wrong value is an {@link OptionException}, here or in {@link #build()}. */
public final class QueueBuilder {
  private static final int MOST_AT_A_TIME = 10_000;
  private static final Duration LONGEST = Duration.ofDays(36_500);

  String name = "default";
  int concurrency = 6;
  int perOrigin = 3;
  private boolean isPerOriginGiven;
  int capacity = 10_000;
  long capacityBytes = 50L << 20;
  Duration maxLaneHold = Duration.ofSeconds(60);
  Duration wait = Duration.ofSeconds(30);
  RetryPolicy policy = RetryPolicy.interactive();
  RetryPolicy deferredPolicy = RetryPolicy.background();
  final List<QueueListener> listeners = new ArrayList<>();
  /** For tests: makes jitter repeatable. */
  long seed = new SecureRandom().nextLong();
  /** For tests; null: the system's. */
  Ticker ticker;

  QueueBuilder() {}

  /** The queue's name, in messages, metrics and the name of its thread. Default: default. */
  public QueueBuilder name(String name) {
    this.name = OptionException.given("name", name);
    return this;
  }

  /** The most attempts of the queue itself, retries and deferred calls, at a time: 1 to 10,000. Default: 6. */
  public QueueBuilder concurrency(int most) {
    concurrency = OptionException.whole("concurrency", most, 1, MOST_AT_A_TIME);
    if (!isPerOriginGiven) perOrigin = most;
    return this;
  }

  /** The most of these to one origin: 1 to 10,000. Default: 3, and the same as concurrency where that is given. */
  public QueueBuilder concurrencyPerOrigin(int most) {
    perOrigin = OptionException.whole("concurrencyPerOrigin", most, 1, MOST_AT_A_TIME);
    isPerOriginGiven = true;
    return this;
  }

  /** The most calls that wait or are tried again: 1 to 1,000,000. Beyond that a failed call ends with its own answer. Default: 10,000. */
  public QueueBuilder capacity(int most) {
    capacity = OptionException.whole("capacity", most, 1, 1_000_000);
    return this;
  }

  /** The most bytes of their bodies: 0 to 2^53. Default: 50 MiB. */
  public QueueBuilder capacityBytes(long most) {
    if (most < 0 || most > 1L << 53) throw new OptionException("capacityBytes", "expected 0..2^53, got " + most);
    capacityBytes = most;
    return this;
  }

  /** The longest time for which an answer to one request (Retry-After, RateLimit) holds back the others to its origin. Default: 60 s. */
  public QueueBuilder maxLaneHold(Duration longest) {
    maxLaneHold = duration("maxLaneHold", longest, Duration.ZERO);
    return this;
  }

  /** The longest that a caller waits, whatever the call waits for; the time that its body needs at 50 KB/s is added. Default: 30 s. */
  public QueueBuilder wait(Duration longest) {
    wait = duration("wait", longest, Duration.ofMillis(1));
    return this;
  }

  /** When to retry calls whose callers wait. Default: {@link RetryPolicy#interactive()}. */
  public QueueBuilder policy(RetryPolicy policy) {
    this.policy = OptionException.given("policy", policy);
    return this;
  }

  /** When to retry deferred calls. Default: {@link RetryPolicy#background()}. */
  public QueueBuilder deferredPolicy(RetryPolicy policy) {
    deferredPolicy = OptionException.given("deferredPolicy", policy);
    return this;
  }

  /** Adds one who hears what happens. Default: none. */
  public QueueBuilder listener(QueueListener listener) {
    listeners.add(OptionException.given("listener", listener));
    return this;
  }

  /** Builds the queue. OptionException: the core refuses a policy. */
  public RetryQueue build() {
    return new RetryQueue(this);
  }

  private static Duration duration(String option, Duration value, Duration least) {
    OptionException.given(option, value);
    if (value.compareTo(least) < 0 || value.compareTo(LONGEST) > 0) {
      throw new OptionException(option, "expected " + least.toMillis() + " ms to " + LONGEST.toDays() + " days, got " + value);
    }
    return value;
  }
}

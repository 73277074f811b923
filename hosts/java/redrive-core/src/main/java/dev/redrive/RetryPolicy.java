package dev.redrive;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * When to retry, and for how long. Immutable: each method gives a new policy. The options are those of docs/options.md, by the same names; what is
 * not given has the default there. The core checks a policy when a queue is built with it.
 */
public final class RetryPolicy {
  /** Where the lengths of the two lists stand in a row. */
  private static final int LISTS = Codes.POLICY_FIELDS.size();
  private static final List<String> NAMES = Stream.concat(Codes.POLICY_FIELDS.stream(), Stream.of("delaysMs", "retryableStatusCodes")).toList();
  private static final double DEFAULT_ATTEMPT_MS = 10_000;
  /** 50 KB/s: a slow line. */
  private static final long BYTES_PER_MS = 50;

  /** NaN: not given. */
  private final double[] numbers;
  /** null: not given. This and the next. */
  private final double[] delays;
  private final double[] statuses;

  private RetryPolicy(double[] numbers, double[] delays, double[] statuses) {
    this.numbers = numbers;
    this.delays = delays;
    this.statuses = statuses;
  }

  /** For a caller that waits: at most 12 attempts, waits of up to 0.5, 1, 2, 4 and then 8 s. The default of a queue. */
  public static RetryPolicy interactive() {
    return preset("interactive");
  }

  /** For work that no caller waits for: waits from a second to ten minutes, for a day. The default of deferred calls. */
  public static RetryPolicy background() {
    return preset("background");
  }

  /** A preset: interactive, background, zizq, sidekiq, aws, grpc or svix. OptionException: there is none of this name. */
  public static RetryPolicy preset(String name) {
    int number = Codes.PRESETS.indexOf(name);
    if (number < 0) throw new OptionException("preset", "expected one of " + Codes.PRESETS + ", got " + name);
    double[] row = Core.shared().run(Codes.OP_PRESET, number);
    int delays = Double.isNaN(row[LISTS]) ? 0 : (int) row[LISTS];
    int from = LISTS + 2;
    return new RetryPolicy(
        Arrays.copyOf(row, LISTS),
        Double.isNaN(row[LISTS]) ? null : Arrays.copyOfRange(row, from, from + delays),
        Double.isNaN(row[LISTS + 1]) ? null : Arrays.copyOfRange(row, from + delays, row.length));
  }

  /** Attempts of a call in total, the first included: 1 to 1,000,000; 1 turns retrying off. */
  public RetryPolicy maxAttempts(int most) {
    return number("maxAttempts", most);
  }

  /** The first wait, before jitter. */
  public RetryPolicy initialDelay(Duration wait) {
    return number("initialDelayMs", millis(wait));
  }

  /**
   * The time limit of an attempt, up to the headers of its answer; zero: none. Default: 10 s, and the time that the body needs at 50 KB/s; while a server
   * answers no call at all, first attempts stay longer, up to the caller's wait, and an attempt that follows one without an answer has twice as long.
   */
  public RetryPolicy attemptTimeout(Duration limit) {
    return number("attemptTimeoutMs", millis(limit));
  }

  /**
   * Sets an option by its name in docs/options.md, as settings have it: {@code maxAttempts} or {@code max-attempts} to {@code 3}, {@code maxDelayMs} to
   * {@code 12.5s} or {@code 12500}, {@code jitterType} to {@code EQUAL}, {@code retryableStatusCodes} to {@code 429,503}. OptionException: there is no
   * such option, or the text is none of its values.
   */
  public RetryPolicy with(String option, String value) {
    String name = NAMES.stream().filter(option.replace("-", "")::equalsIgnoreCase).findFirst()
        .orElseThrow(() -> new OptionException("policy." + option, "expected one of " + NAMES));
    return switch (name) {
      case "retryableStatusCodes" -> new RetryPolicy(numbers, delays, list(name, value));
      case "delaysMs" -> new RetryPolicy(numbers, list(name, value), statuses);
      case "strategy" -> number(name, word(name, value, Codes.STRATEGIES));
      case "jitterType" -> number(name, word(name, value, Codes.JITTERS));
      default -> number(name, value.equals("true") ? 1 : value.equals("false") ? 0 : parse(name, value.trim()));
    };
  }

  /** Sets several options, as {@link #with(String, String)} does. */
  public RetryPolicy with(Map<String, String> options) {
    RetryPolicy policy = this;
    for (Map.Entry<String, String> option : options.entrySet()) policy = policy.with(option.getKey(), option.getValue());
    return policy;
  }

  private RetryPolicy number(String option, double value) {
    double[] changed = numbers.clone();
    changed[Codes.POLICY_FIELDS.indexOf(option)] = value;
    return new RetryPolicy(changed, delays, statuses);
  }

  private static double[] list(String option, String value) {
    return Arrays.stream(value.split(",")).map(String::trim).mapToDouble(item -> parse(option, item)).toArray();
  }

  private static double word(String option, String value, List<String> words) {
    int place = words.indexOf(value);
    if (place < 0) throw new OptionException("policy." + option, "expected one of " + words + ", got " + value);
    return place;
  }

  private static double parse(String option, String value) {
    double number = option.endsWith("Ms") ? Core.shared().runText(Codes.OP_DURATION, Core.bytes(value))[0] : Double.NaN;
    if (!Double.isNaN(number)) return number;
    try {
      return Double.parseDouble(value);
    } catch (NumberFormatException e) {
      throw new OptionException("policy." + option, "expected a number" + (option.endsWith("Ms") ? " of milliseconds, or a duration such as 12.5s" : "") + ", got " + value);
    }
  }

  /** The row that the core reads. */
  double[] row() {
    double[] lists = {delays == null ? Double.NaN : delays.length, statuses == null ? Double.NaN : statuses.length};
    double[] row = Arrays.copyOf(numbers, LISTS + 2 + (delays == null ? 0 : delays.length) + (statuses == null ? 0 : statuses.length));
    System.arraycopy(lists, 0, row, LISTS, 2);
    if (delays != null) System.arraycopy(delays, 0, row, LISTS + 2, delays.length);
    if (statuses != null) System.arraycopy(statuses, 0, row, row.length - statuses.length, statuses.length);
    return row;
  }

  /** Whether an answer is a failure: only then its headers may ask for a wait. */
  boolean fails(int status) {
    return status >= 400 || (statuses != null && Arrays.stream(statuses).anyMatch(listed -> listed == status));
  }

  /** Whether nothing is said about the time of one attempt. */
  boolean hasDefaultLimit() {
    return Double.isNaN(numbers[Codes.POLICY_FIELDS.indexOf("attemptTimeoutMs")]);
  }

  /** The time limit of one attempt, in ms; infinity: none. */
  double attemptMs(long bodyBytes) {
    double given = numbers[Codes.POLICY_FIELDS.indexOf("attemptTimeoutMs")];
    if (Double.isNaN(given)) return DEFAULT_ATTEMPT_MS + bodyMs(bodyBytes);
    return given == 0 ? Double.POSITIVE_INFINITY : given;
  }

  /** The time that a body of so many bytes is given to arrive, in ms. */
  static double bodyMs(long bodyBytes) {
    return bodyBytes / BYTES_PER_MS;
  }

  /** Milliseconds with their fraction, which the core refuses. */
  private static double millis(Duration time) {
    return time.toMillis() + time.toNanosPart() % 1_000_000 / 1e6;
  }
}

package dev.redrive;

import static dev.redrive.Codes.*;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Every row of tests/vectors that the module can answer, through the module. */
class VectorTest {
  private static final double NEVER = Double.POSITIVE_INFINITY;
  private static final double NOT_GIVEN = Double.NaN;
  private static final List<String> OUTCOMES = List.of("response", "network_error", "timed_out", "offline", "credentials_failed", "vetoed", "released",
      "redirect_refused", "own_error", "aborted");
  private static final Map<String, Integer> FLAGS = Map.of("replayable", 1, "key", 2, "credentials", 4);
  private static final Map<String, String> JITTERS = Map.of("exponential", "NONE", "full", "FULL", "equal", "EQUAL", "additive", "ADDITIVE", "proportional",
      "PROPORTIONAL", "decorrelated", "DECORRELATED", "decorrelated_clamped", "DECORRELATED_CLAMPED");

  private final Core core = new Core();

  /** Checks at least so many rows, and names those that are wrong. */
  private static void check(String file, int least, Predicate<JsonNode> isRight) {
    List<JsonNode> rows = Vectors.rows(file);
    assertTrue(rows.size() >= least, file + ": " + rows.size() + " rows");
    assertEquals(List.of(), rows.stream().filter(isRight.negate()).limit(5).toList(), file);
  }

  @Test
  @DisplayName("every policy is taken, or refused by the name of the option that its row says")
  void policies() {
    check("policies", 146, row -> {
      double[] answer = core.run(OP_POLICY, Vectors.policyRow(row.get("options")));
      if (row.has("ok")) return answer.length == 1 && answer[0] != NONE;
      return answer[0] == NONE && Core.string(core.text(answer[1])).startsWith(row.get("error").get("option").asText() + ": ");
    });
  }

  @Test
  @DisplayName("the presets are the ones of the file")
  void presets() {
    check("presets", 7, row -> {
      double[] expected = Vectors.policyRow(row.get("policy"));
      return Arrays.equals(expected, core.run(OP_PRESET, PRESETS.indexOf(row.get("name").asText())))
          && Arrays.equals(expected, RetryPolicy.preset(row.get("name").asText()).row());
    });
  }

  @Test
  @DisplayName("S10 every published curve gives the exact delay of every row")
  void backoff() {
    check("backoff", 1291, row -> {
      boolean isSpread = row.get("strategy").asText().equals("spread");
      // a row of spread gives the phase, and has no fresh jitter
      double r32 = isSpread ? 1L << 31 : row.get("u32").asDouble();
      return delay(row, optionsOf(row), r32, isSpread ? row.get("u32").asDouble() : 0) == row.get("delayMs").asDouble();
    });
  }

  @Test
  @DisplayName("S10 every jitter on every curve gives the exact delay of every row")
  void backoffOwn() {
    check("backoff-own", 2049, row ->
        delay(row, row.get("options"), row.get("u32").asDouble(), Vectors.or(row.get("phase"), 0)) == row.get("delayMs").asDouble());
  }

  private double delay(JsonNode row, JsonNode options, double r32, double phase) {
    double[] args = {row.get("attempt").asDouble(), r32, phase, Vectors.or(row.get("prevDelayMs"), NOT_GIVEN)};
    return core.run(OP_DELAY, DoubleStream.concat(DoubleStream.of(args), DoubleStream.of(Vectors.policyRow(options))).toArray())[0];
  }

  private static JsonNode optionsOf(JsonNode row) {
    JsonNode params = row.get("params");
    ObjectNode options = new ObjectMapper().createObjectNode();
    String strategy = row.get("strategy").asText();
    if (JITTERS.containsKey(strategy)) {
      options.put("strategy", "exponential").put("jitterType", JITTERS.get(strategy));
      return put(options, params, "initialDelayMs", "base", "multiplier", "mult", "maxDelayMs", "cap", "jitterRatio", "ratio");
    }
    return switch (strategy) {
      case "fixed" -> put(options.put("strategy", strategy).put("jitterType", "NONE"), params, "initialDelayMs", "delay");
      case "linear" -> put(options.put("strategy", strategy).put("jitterType", "NONE"), params, "initialDelayMs", "base", "stepMs", "step", "maxDelayMs", "cap");
      case "zizq" -> put(options.put("strategy", "polynomial"), params, "baseMs", "base", "exponent", "exponent", "jitterMs", "jitter");
      case "spread" -> put(options.put("strategy", strategy), params, "initialDelayMs", "base", "multiplier", "mult", "maxDelayMs", "cap");
      default -> options.put("strategy", strategy);
    };
  }

  private static JsonNode put(ObjectNode options, JsonNode params, String... names) {
    for (int i = 0; i < names.length; i += 2) {
      if (params.has(names[i + 1])) options.set(names[i], params.get(names[i + 1]));
    }
    return options;
  }

  @Test
  @DisplayName("durations are whole milliseconds, or refused")
  void durations() {
    check("durations", 70, row -> same(row.get("ms"), core.runText(OP_DURATION, Core.bytes(row.get("text").asText()))[0]));
  }

  private static boolean same(JsonNode expected, double got) {
    return expected.isNull() ? Double.isNaN(got) : expected.asDouble() == got;
  }

  /** The numbers of an answer's lines: name and value in turns, null where there is none. No client gives a line feed. */
  private double[] said(double now, int status, String... lines) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < lines.length; i += 2) {
      if (lines[i + 1] != null) text.append(lines[i]).append(':').append(lines[i + 1].replace('\n', '\0')).append('\n');
    }
    return core.runText(OP_SAID, Core.bytes(text.toString()), status, status >= 400 ? 1 : 0, now);
  }

  private static String orNull(JsonNode value) {
    return value == null || value.isNull() ? null : value.asText();
  }

  @Test
  @DisplayName("S9 Retry-After is read to the letter")
  void retryAfter() {
    check("retry-after", 335, row ->
        said(row.get("now").asDouble(), 503, "retry-after", row.get("header").asText(), "date", orNull(row.get("date")))[0] == Vectors.or(row.get("ms"), -1));
  }

  @Test
  @DisplayName("S9 of two headers the finer counts where it can be used")
  void serverDelay() {
    check("server-delay", 83, row -> {
      double got = said(row.get("now").asDouble(), 503, "retry-after", orNull(row.get("retryAfter")), "retry-after-ms", orNull(row.get("retryAfterMs")),
          "date", orNull(row.get("date")))[0];
      return isAsked(row, got);
    });
  }

  private static boolean isAsked(JsonNode row, double got) {
    return switch (row.get("asked").asText()) {
      case "nothing" -> Double.isNaN(got);
      case "unusable" -> got < 0;
      default -> got == row.get("ms").asDouble();
    };
  }

  @Test
  @DisplayName("S9 of all that servers send one wait is read")
  void asked() {
    check("asked", 30, row -> {
      List<String> lines = new ArrayList<>();
      boolean hasRetryAfter = false;
      for (JsonNode line : row.get("lines")) {
        lines.add(line.get(0).asText());
        lines.add(line.get(1).asText());
        hasRetryAfter |= line.get(0).asText().equals("retry-after");
      }
      int status = row.get("status").asInt();
      double[] got = said(row.get("now").asDouble(), status, lines.toArray(String[]::new));
      boolean asks = row.has("asks") ? row.get("asks").asBoolean() : status >= 400 && hasRetryAfter;
      return isAsked(row, got[0]) && same(row.get("limitMs"), got[1]) && (got[3] == 1) == asks;
    });
  }

  @Test
  @DisplayName("S9 a reset is read as a delay or a time where the quota is used up, and gives way to Retry-After")
  void reset() {
    check("rate-limit-reset", 110, row -> {
      double now = row.get("now").asDouble();
      int status = row.get("status").asInt();
      String[] resets = {"ratelimit-reset", row.get("reset").asText(), "ratelimit-remaining", orNull(row.get("remaining")), "date", orNull(row.get("date"))};
      double alone = said(now, status, resets)[0];
      double beside = said(now, status, append(resets, "retry-after", "7"))[0];
      if (status < 400) return Double.isNaN(alone) && Double.isNaN(beside);
      return same(row.get("ms"), alone) && beside == 7000;
    });
  }

  private static String[] append(String[] lines, String name, String value) {
    List<String> all = new ArrayList<>(List.of(name, value));
    all.addAll(Arrays.asList(lines));
    return all.toArray(String[]::new);
  }

  @Test
  @DisplayName("S9 a RateLimit with nothing left is read whole, or not at all")
  void rateLimit() {
    check("ratelimit", 240, row -> {
      double[] got = said(0, 200, "ratelimit", row.get("header").asText());
      boolean isSpent = !row.get("remaining").isNull() && row.get("remaining").asDouble() == 0;
      if (!isSpent) return Double.isNaN(got[1]) && got[2] == 0;
      return same(row.get("resetMs"), got[1]) && (got[2] == 1) == row.path("partitioned").asBoolean();
    });
  }

  @Test
  @DisplayName("the end of a call is classified as every row says")
  void classify() {
    check("classify", 189, row -> {
      int flags = 0;
      for (JsonNode flag : row.get("flags")) flags |= FLAGS.get(flag.asText());
      double policy = core.run(OP_POLICY, Vectors.policyRow(row.get("policy")))[0];
      double outcome = OUTCOMES.indexOf(row.get("outcome").asText());
      double asked = row.path("asked").asBoolean() ? 1 : 0;
      boolean isPlain = !row.has("unanswered") && !row.has("shouldRetry") && !row.has("handedOver");
      return row.get("decision").asText().equals(isPlain ? classified(policy, outcome, row, flags, asked) : settled(policy, outcome, row, flags, asked));
    });
  }

  private String classified(double policy, double outcome, JsonNode row, int flags, double asked) {
    int code = (int) core.run(OP_CLASSIFY, policy, outcome, row.get("status").asDouble(), flags, asked)[0];
    return code == CLASS_SUCCESS ? "success" : code == CLASS_RETRY ? "retry" : REASONS.get(code - CLASS_FAILED);
  }

  private String settled(double policy, double outcome, JsonNode row, int flags, double asked) {
    core.run(OP_NEW, 1, 1, 10, 100, 0, 0, 1);
    double again = core.run(OP_POLICY, Vectors.policyRow(row.get("policy")))[0];
    double lane = core.run(OP_LANE)[0];
    double marks = row.path("unanswered").asBoolean() ? MARK_UNANSWERED : 0;
    double slot = core.run(OP_ADOPT, 0, lane, again, 0, 0, flags, 0, NEVER, NEVER, NEVER, 2, 0, -1, 0, marks, NOT_GIVEN, NEVER, NONE)[0];
    double said = !row.has("shouldRetry") ? SAID_NOTHING : row.get("shouldRetry").asBoolean() ? SAID_RETRY : SAID_END;
    double[] next = core.run(OP_SETTLE, 0, slot, outcome, row.get("status").asDouble(), NOT_GIVEN, 1, NOT_GIVEN, 0, 0, said, NOT_GIVEN, asked, 0, 0, NONE);
    String kind = NEXT_KINDS.get((int) next[0]);
    return kind.equals("succeeded") ? "success" : kind.equals("exhausted") ? REASONS.get((int) next[1 + NEXT_REASON]) : "retry";
  }

  @Test
  @DisplayName("S12 every header is kept, withheld, unknown, dropped or refused as its row says")
  void headers() {
    List<String> classes = List.of("kept", "withheld", "unknown", "dropped", "refused");
    check("headers", 504, row -> {
      byte[] keep = Core.bytes(joined(row.get("persist")));
      byte[] deny = Core.bytes(joined(row.get("deny")));
      byte[] both = Arrays.copyOf(keep, keep.length + deny.length);
      System.arraycopy(deny, 0, both, keep.length, deny.length);
      boolean isRead = core.runParts(OP_HEADER_RULES, both, keep.length, deny.length)[0] == 1;
      // one for each line: a name with a line feed is none
      double[] kinds = core.runText(OP_HEADERS, Core.bytes(row.get("name").asText()));
      return isRead && classes.get(kinds.length == 1 ? (int) kinds[0] : HEADER_REFUSED).equals(row.get("class").asText());
    });
  }

  private static String joined(JsonNode names) {
    List<String> each = new ArrayList<>();
    if (names != null) names.forEach(name -> each.add(name.asText()));
    return String.join("\n", each);
  }

  @Test
  @DisplayName("S12 a value looks like a secret as its row says")
  void headerValues() {
    check("header-values", 185, row -> (core.runText(OP_SECRETS, Core.bytes(row.get("value").asText()))[0] == 1) == row.get("secret").asBoolean());
  }

  @Test
  @DisplayName("S12 a URL without secrets stays as it is, and parameters and user info that are secrets are taken out")
  void urlSecrets() {
    check("url-secrets", 311, row -> {
      String url = row.get("url").asText();
      String left = core.transform(OP_STRIP_SECRETS, url);
      boolean hasNamed = false;
      for (JsonNode secret : row.get("secrets")) hasNamed |= !secret.asText().isEmpty();
      return row.get("secrets").isEmpty() ? left.equals(url) : !hasNamed || !left.equals(url);
    });
  }

  @Test
  @DisplayName("every URL has the normal form of its row")
  void urls() {
    check("urls", 126, row -> Objects.equals(orNull(row.get("normalized")), core.transform(OP_NORMALIZE, row.get("url").asText())));
  }

  @Test
  @DisplayName("every request has the key and the fingerprint of its row")
  void keys() {
    check("keys", 124, row -> {
      byte[][] request = {bytes(row, "method"), bytes(row, "url"), bytes(row, "contentType")};
      byte[] body = Vectors.bytes(row, "body");
      byte[][] all = {request[0], request[1], request[2], bytes(row, "principal"), bytes(row, "scope"), bytes(row, "nonce"), bytes(row, "scopeKey"), body};
      String key = parts(OP_CONTENT_KEY, row.path("principal").isTextual() ? 1.0 : 0.0, all);
      String fingerprint = parts(OP_FINGERPRINT, null, request[0], request[1], request[2], body);
      if (row.has("error")) return key == null && fingerprint == null;
      return row.get("key").asText().equals(key) && row.get("fingerprint").asText().equals(fingerprint);
    });
  }

  private static byte[] bytes(JsonNode row, String name) {
    return Core.bytes(Vectors.text(row.get(name)));
  }

  private String parts(int op, Double first, byte[]... parts) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    DoubleStream.Builder args = DoubleStream.builder();
    if (first != null) args.add(first);
    for (byte[] part : parts) {
      text.writeBytes(part);
      args.add(part.length);
    }
    double length = core.runParts(op, text.toByteArray(), args.build().toArray())[0];
    return length == NONE ? null : Core.string(core.text(length));
  }

  @Test
  @DisplayName("every JSON text has the canonical form of its row, or is refused")
  void canonicalJson() {
    check("canonical-json", 212, row -> {
      double length = core.runText(OP_CANONICAL_JSON, Vectors.bytes(row, "text"))[0];
      return row.has("canonical") ? length != NONE && row.get("canonical").asText().equals(Core.string(core.text(length))) : length == NONE;
    });
  }

  @Test
  @DisplayName("S21 a seed gives the draws of its row: they are the waits of full jitter over 2^32 ms")
  void seeds() {
    ObjectNode wide = new ObjectMapper().createObjectNode().put("strategy", "fixed").put("initialDelayMs", 1L << 32).put("totalBudgetMs", 1L << 40)
        .put("keyTtlMs", 1L << 40);
    for (JsonNode row : Vectors.rows("splitmix64")) {
      long seed = HexFormat.fromHexDigitsToLong(row.get("seed").asText());
      core.run(OP_NEW, 1, 1, 10, 100, 0, seed >>> 32, seed & 0xffffffffL);
      double policy = core.run(OP_POLICY, Vectors.policyRow(wide))[0];
      double lane = core.run(OP_LANE)[0];
      // the first draw is the queue's own
      int count = row.get("outputs").size() - 1;
      double[] expected = new double[count];
      double[] got = new double[count];
      for (int i = 0; i < count; i++) {
        expected[i] = Long.parseLong(row.get("outputs").get(i + 1).asText().substring(0, 8), 16);
        double slot = core.run(OP_ADMIT, 0, lane, policy, 0, 0, 3, 0, NEVER, NEVER, NONE, 0)[0];
        got[i] = core.run(OP_SETTLE, 0, slot, OUTCOME_RESPONSE, 503, NOT_GIVEN, 1, NOT_GIVEN, 0, 0, 0, NOT_GIVEN, 0, 0, 0, NONE)[1 + NEXT_DELAY_MS];
      }
      assertArrayEquals(expected, got, row.toString());
    }
  }
}

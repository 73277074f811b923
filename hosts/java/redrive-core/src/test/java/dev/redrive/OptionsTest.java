package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class OptionsTest {
  private static void refused(String message, Executable work) {
    assertEquals(message, assertThrows(OptionException.class, work).getMessage());
  }

  @Test
  @DisplayName("a wrong option is an error that names it, what was expected, and the value")
  void wrongOptions() {
    refused("concurrency: expected a whole number, 1..10000, got 0", () -> RetryQueue.builder().concurrency(0));
    refused("concurrencyPerOrigin: expected a whole number, 1..10000, got 10001", () -> RetryQueue.builder().concurrencyPerOrigin(10_001));
    refused("capacity: expected a whole number, 1..1000000, got -1", () -> RetryQueue.builder().capacity(-1));
    refused("capacityBytes: expected 0..2^53, got -1", () -> RetryQueue.builder().capacityBytes(-1));
    refused("wait: expected 1 ms to 36500 days, got PT0S", () -> RetryQueue.builder().wait(Duration.ZERO));
    refused("maxLaneHold: expected a value, got null", () -> RetryQueue.builder().maxLaneHold(null));
    refused("preset: expected one of " + Codes.PRESETS + ", got slow", () -> RetryPolicy.preset("slow"));
    refused("policy.maxAttempts: expected a whole number, 1..=1000000, got 0",
        () -> RetryQueue.builder().policy(RetryPolicy.interactive().maxAttempts(0)).build());
    refused("policy.initialDelayMs: expected a whole number of milliseconds, 0..=8640000000000000, got 0.001",
        () -> RetryQueue.builder().policy(RetryPolicy.interactive().initialDelay(Duration.ofNanos(500))).build());
    refused("policy.initialDelayMs: expected a number of milliseconds, or a duration such as 12.5s, got soon",
        () -> RetryPolicy.interactive().with("initialDelayMs", "soon"));
    refused("policy.jitterType: expected one of " + Codes.JITTERS + ", got SOME", () -> RetryPolicy.interactive().with("jitterType", "SOME"));
    OptionException unknown = assertThrows(OptionException.class, () -> RetryPolicy.interactive().with("retries", "3"));
    assertTrue(unknown.getMessage().startsWith("policy.retries: expected one of [strategy, maxAttempts, "), unknown.getMessage());
    refused("uri: expected an absolute address, http or https, got scheme ftp and host a.test",
        () -> RetryRequest.of("GET", URI.create("ftp://a.test/"), name -> null, true, 0));
    refused("uri: expected an absolute address, http or https, got scheme null and host null",
        () -> RetryRequest.of("GET", URI.create("/orders"), name -> null, true, 0));
    refused("service: expected an address that the JDK's client can send to, such as http://127.0.0.1:7733 (no host with a '_'), got http://my_service:7733",
        () -> new OutboxRelay(new JdbcDataSource(), URI.create("http://my_service:7733"), null, Duration.ofSeconds(1)));
    refused("interval: expected 1 ms or longer, got PT0S", () -> new OutboxRelay(new JdbcDataSource(), URI.create("http://a.test"), null, Duration.ZERO));
  }

  @Test
  @DisplayName("an origin is scheme, host and port, of a host with an underscore, too")
  void origins() {
    for (String address : List.of("http://my_service:8080", "https://a.test", "http://[::1]:81")) {
      assertEquals(address, RetryRequest.of("GET", URI.create(address + "/x?y@z"), name -> null, true, 0).origin());
    }
    assertEquals("http://my_service", RetryRequest.of("GET", URI.create("HTTP://ann:secret@My_Service:80"), name -> null, true, 0).origin());
  }

  @Test
  @DisplayName("a policy is the same by its methods and by its names")
  void policies() {
    RetryPolicy byMethod = RetryPolicy.interactive().maxAttempts(3).initialDelay(Duration.ofMillis(100))
        .attemptTimeout(Duration.ofSeconds(2)).with("retryableStatusCodes", "429,503");
    RetryPolicy byName = RetryPolicy.interactive().with(Map.of("maxAttempts", "3", "initial-delay-ms", "100ms", "attemptTimeoutMs", "2s",
        "retryableStatusCodes", "429, 503"));
    assertEquals(Arrays.toString(byMethod.row()), Arrays.toString(byName.row()));
    RetryPolicy table = RetryPolicy.interactive().with("strategy", "table").with("delaysMs", "1s, 5000");
    double[] row = table.row();
    assertEquals(List.of(8.0, 2.0, 1000.0, 5000.0), List.of(row[0], row[19], row[21], row[22]));
    RetryQueue.builder().policy(byName).deferredPolicy(table).build().close();
  }
}

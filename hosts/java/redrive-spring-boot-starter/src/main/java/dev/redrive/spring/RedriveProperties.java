package dev.redrive.spring;

import java.time.Duration;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.util.unit.DataSize;

/**
 * Settings of the queue. A wrong one ends the start of the application with its name, what was expected and the value.
 *
 * @param corePoolSize threads of {@code redriveTaskExecutor}, on which blocking retries run. Default: 6
 * @param maxPoolSize the most threads once its queue is full. Default: 24
 * @param queueCapacity attempts that wait for a thread; beyond that and maxPoolSize they are put off. Default: 1,000
 * @param concurrency the most attempts of the queue itself at a time: 1 to 10,000. Default: 6
 * @param concurrencyPerOrigin the most of these to one origin: 1 to 10,000. Default: 3, and the same as concurrency where that is given
 * @param capacity the most calls that wait or are tried again: 1 to 1,000,000. Default: 10,000
 * @param capacityBytes the most bytes of their bodies. Default: 50MB
 * @param maxLaneHold the longest time for which one answer holds back all calls to its origin. Default: 60s
 * @param longestWait {@code redrive.wait}: the longest that a caller waits, all attempts included. Default: 30s
 * @param policy options of the policy for callers that wait, by their names in docs/options.md: {@code redrive.policy.maxAttempts=3}
 * @param deferredPolicy the same of deferred calls
 * @param outbox settings of the outbox
 */
@ConfigurationProperties("redrive")
public record RedriveProperties(
    @DefaultValue("6") int corePoolSize,
    @DefaultValue("24") int maxPoolSize,
    @DefaultValue("1000") int queueCapacity,
    Integer concurrency,
    Integer concurrencyPerOrigin,
    @DefaultValue("10000") int capacity,
    @DefaultValue("50MB") DataSize capacityBytes,
    @DefaultValue("60s") Duration maxLaneHold,
    @Name("wait") @DefaultValue("30s") Duration longestWait,
    @DefaultValue Map<String, String> policy,
    @DefaultValue Map<String, String> deferredPolicy,
    @DefaultValue Outbox outbox) {
  public RedriveProperties {
    expect(corePoolSize >= 0, "corePoolSize", "0 or more", corePoolSize);
    expect(maxPoolSize >= Math.max(1, corePoolSize), "maxPoolSize", Math.max(1, corePoolSize) + " or more, as corePoolSize is " + corePoolSize, maxPoolSize);
    expect(queueCapacity >= 0, "queueCapacity", "0 or more", queueCapacity);
  }

  private static void expect(boolean isSo, String name, String expected, Object got) {
    if (!isSo) throw new IllegalArgumentException(name + ": expected " + expected + ", got " + got);
  }

  /**
   * Settings of the outbox.
   *
   * @param service the address of the retry service, such as {@code http://127.0.0.1:7733}; none: there is no outbox
   * @param token its token, with the scope tasks:write; none: it needs none
   * @param createTable whether to create the table {@code redrive_outbox} at the start. Default: true
   * @param interval how long to wait before looking again where nothing was to be posted. Default: 1s
   */
  public record Outbox(String service, String token, @DefaultValue("true") boolean createTable, @DefaultValue("1s") Duration interval) {
    public Outbox {
      boolean isAddress = service == null || service.matches("(?i)https?://[a-z0-9.:\\[\\]-]+(/.*)?");
      expect(isAddress, "outbox.service", "an address such as http://127.0.0.1:7733 (no host with a '_')", service);
    }
  }
}

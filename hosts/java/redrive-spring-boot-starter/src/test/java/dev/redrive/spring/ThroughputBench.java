package dev.redrive.spring;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redrive.RetryQueue;
import dev.redrive.Server;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.retry.support.RetryTemplate;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;

/**
 * Calls a second of Spring's clients by themselves, with redrive, spring-retry and Resilience4j, one after another in each of many rounds. All answers are
 * good: {@code mvn -q test -Dtest=ThroughputBench -Dgroups=bench -DexcludedGroups= -Dsurefire.failIfNoSpecifiedTests=false}.
 */
@Tag("bench")
class ThroughputBench {
  private static final int CALLERS = 4;
  private static final int CALLS = 500;
  private static final int ROUNDS = 11;
  private static final int WARM_UP = 3;

  @Test
  @DisplayName("a call that succeeds costs little more with redrive than without")
  void throughput() {
    try (Server server = new Server((nth, exchange) -> Server.reply(exchange, 200, "{\"ok\":true}")); RetryQueue queue = RetryQueue.builder().build()) {
      server.ignoreVisits();
      URI uri = server.uri("/orders");
      JdkClientHttpRequestFactory factory = new JdkClientHttpRequestFactory(HttpClient.newHttpClient());
      ExecutorService executor = Executors.newFixedThreadPool(6);
      RedriveInterceptor redrive = new RedriveInterceptor(queue, executor);
      RestTemplate template = new RestTemplate(factory);
      RestTemplate retrying = new RestTemplate(factory);
      retrying.getInterceptors().add(redrive);
      RestClient client = RestClient.create(template);
      RestClient retryingClient = RestClient.builder().requestFactory(factory).requestInterceptor(redrive).build();
      RetryTemplate springRetry = RetryTemplate.builder().maxAttempts(5).exponentialBackoff(500, 2, 30_000).build();
      Retry resilience = Retry.of("orders", RetryConfig.custom().maxAttempts(5).build());
      Map<String, Supplier<String>> ways = new LinkedHashMap<>();
      ways.put("RestTemplate", () -> template.getForObject(uri, String.class));
      ways.put("RestTemplate, redrive", () -> retrying.getForObject(uri, String.class));
      ways.put("RestTemplate, spring-retry", () -> springRetry.execute(context -> template.getForObject(uri, String.class)));
      ways.put("RestTemplate, Resilience4j", Retry.decorateSupplier(resilience, () -> template.getForObject(uri, String.class)));
      ways.put("RestClient", () -> client.get().uri(uri).retrieve().body(String.class));
      ways.put("RestClient, redrive", () -> retryingClient.get().uri(uri).retrieve().body(String.class));
      measure(ways);
      executor.shutdownNow();
    }
  }

  private static void measure(Map<String, Supplier<String>> ways) {
    Map<String, double[]> rates = new LinkedHashMap<>();
    ways.keySet().forEach(name -> rates.put(name, new double[ROUNDS]));
    ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
    for (int round = -WARM_UP; round < ROUNDS; round++) {
      for (Map.Entry<String, Supplier<String>> way : ways.entrySet()) {
        double rate = rate(callers, way.getValue());
        if (round >= 0) rates.get(way.getKey())[round] = rate;
      }
    }
    callers.shutdownNow();
    double base = median(rates.get("RestTemplate"));
    rates.forEach((name, each) -> System.out.printf("%-28s %6.0f calls/s, %.2f of RestTemplate alone%n", name, median(each), median(each) / base));
    assertTrue(median(rates.get("RestTemplate, redrive")) > 0.5 * base);
  }

  private static double rate(ExecutorService callers, Supplier<String> call) {
    long started = System.nanoTime();
    CompletableFuture.allOf(IntStream.range(0, CALLERS).mapToObj(i -> CompletableFuture.runAsync(() -> {
      for (int n = 0; n < CALLS; n++) call.get();
    }, callers)).toArray(CompletableFuture[]::new)).join();
    return CALLERS * CALLS * 1e9 / (System.nanoTime() - started);
  }

  private static double median(double[] values) {
    return Arrays.stream(values).sorted().toArray()[values.length / 2];
  }
}

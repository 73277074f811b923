package dev.redrive.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redrive.DeferredException;
import dev.redrive.Outbox;
import dev.redrive.OutboxTask;
import dev.redrive.RetryQueue;
import dev.redrive.Server;
import dev.redrive.Snippets;
import dev.redrive.spring.RedriveFilter;
import dev.redrive.spring.RedriveInterceptor;
import dev.redrive.spring.RedriveMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.Environment;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.HttpServerErrorException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.Disposable;

/** A whole application, with real servers on loopback. */
@Timeout(60)
class StarterTest {
  private static Server service;
  private static ConfigurableApplicationContext shop;

  /** Of each test its own: an origin remembers how it has done. */
  private final List<Server> servers = new ArrayList<>();
  private Server upstream;

  @BeforeAll
  static void start() {
    service = new Server(Server.statuses(201));
    shop = new SpringApplicationBuilder(Shop.class).properties(
        "server.port=0", "spring.main.banner-mode=off", "logging.level.root=warn", "management.endpoints.web.exposure.include=redrive",
        "spring.datasource.url=jdbc:h2:mem:shop", "spring.datasource.hikari.auto-commit=false",
        "redrive.policy.initialDelayMs=20", "redrive.policy.maxAttempts=5", "redrive.policy.attemptTimeoutMs=1s", "redrive.deferred-policy.initialDelayMs=20",
        "redrive.outbox.service=" + service.uri(""), "redrive.outbox.interval=10ms").run();
    shop.getBean(JdbcTemplate.class).execute("create table sales (number int primary key)");
  }

  @AfterAll
  static void stop() {
    shop.close();
    service.close();
  }

  @AfterEach
  void forget() {
    servers.forEach(Server::close);
  }

  private void answering(Server.Handler handler) {
    upstream = new Server(handler);
    servers.add(upstream);
  }

  private void answering(int... statuses) {
    answering(Server.statuses(statuses));
  }

  private long keys() {
    assertNotNull(upstream.visits.get(0).key());
    return upstream.visits.stream().map(Server.Visit::key).distinct().count();
  }

  @Test
  @DisplayName("RestClient: a POST is made again after 503, with its body, under one key")
  void restClient() {
    answering(503, 503, 200);
    assertEquals("answer 3", shop.getBean(RestClient.class).post().uri(upstream.uri("/orders")).body("tea").retrieve().body(String.class));
    assertEquals(1, keys());
    assertEquals(List.of("tea", "tea", "tea"), upstream.visits.stream().map(Server.Visit::body).toList());
  }

  @Test
  @DisplayName("RestTemplate: the same; a final failure, and the last one of several, come with their bodies")
  void restTemplate() {
    RestTemplate template = shop.getBean(RestTemplate.class);
    answering(503, 200);
    assertEquals("answer 2", template.postForObject(upstream.uri("/orders"), "tea", String.class));
    assertEquals(1, keys());
    answering(404);
    assertEquals("answer 1", assertThrows(HttpClientErrorException.NotFound.class, () -> template.getForObject(upstream.uri("/"), String.class)).getResponseBodyAsString());
    answering(503);
    HttpServerErrorException last = assertThrows(HttpServerErrorException.class, () -> template.getForObject(upstream.uri("/"), String.class));
    assertEquals("answer 5", last.getResponseBodyAsString());
  }

  @Test
  @DisplayName("a failed answer that is larger than what is read ahead comes whole")
  void largeFailure() {
    String large = "x".repeat(1_000_000);
    answering((nth, exchange) -> Server.reply(exchange, nth == 1 ? 503 : 404, large));
    HttpClientErrorException error = assertThrows(HttpClientErrorException.class,
        () -> shop.getBean(RestTemplate.class).getForObject(upstream.uri("/"), String.class));
    assertEquals(large, error.getResponseBodyAsString());
  }

  @Test
  @DisplayName("WebClient: a POST is made again after 503, with its body, under one key; the last failure comes with its body")
  void webClient() {
    WebClient client = shop.getBean(WebClient.class);
    answering(503, 503, 200);
    assertEquals("answer 3", client.post().uri(upstream.uri("/orders")).bodyValue("tea").retrieve().bodyToMono(String.class).block());
    assertEquals(1, keys());
    assertEquals("tea", upstream.visits.get(2).body());
    answering(503);
    WebClientResponseException last =
        assertThrows(WebClientResponseException.class, () -> client.get().uri(upstream.uri("/")).retrieve().bodyToMono(String.class).block());
    assertEquals("answer 5", last.getResponseBodyAsString());
  }

  @Test
  @DisplayName("WebClient: who cancels leaves the call, and a request whose body is read once is sent once")
  void webClientLeaves() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    answering((nth, exchange) -> {
      exchange.getResponseHeaders().set("Retry-After", "20");
      Server.reply(exchange, 503, "");
      asked.countDown();
    });
    RetryQueue queue = shop.getBean(RetryQueue.class);
    Disposable call = shop.getBean(WebClient.class).get().uri(upstream.uri("/")).retrieve().bodyToMono(String.class).subscribe();
    asked.await();
    call.dispose();
    until(() -> queue.stats().depth() == 0);
    answering(503);
    assertThrows(WebClientResponseException.class, () -> shop.getBean(WebClient.class).post().uri(upstream.uri("/once")).attribute(RedriveFilter.ONCE, true)
        .bodyValue("tea").retrieve().bodyToMono(String.class).block());
    assertEquals(1, upstream.visits.size());
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void until(Condition condition) throws Exception {
    while (!condition.holds()) Thread.sleep(1);
  }

  @Test
  @DisplayName("an attempt that hangs is interrupted at its limit, and its caller's thread is as it was")
  void hangs() {
    answering((nth, exchange) -> {
      if (nth == 1) hang();
      Server.reply(exchange, 200, "answer " + nth);
    });
    assertEquals("answer 2", shop.getBean(RestClient.class).get().uri(upstream.uri("/")).retrieve().body(String.class));
    assertFalse(Thread.currentThread().isInterrupted());
  }

  private static void hang() {
    try {
      Thread.sleep(TimeUnit.SECONDS.toMillis(50));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("an interrupted caller gets an error, and nothing is sent afterwards")
  void interrupted() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    answering((nth, exchange) -> {
      asked.countDown();
      hang();
    });
    CompletableFuture<Throwable> end = new CompletableFuture<>();
    Thread caller = new Thread(() -> {
      try {
        end.complete(new AssertionError(shop.getBean(RestClient.class).get().uri(upstream.uri("/")).retrieve().body(String.class)));
      } catch (Throwable thrown) {
        end.complete(thrown);
      }
    });
    caller.start();
    asked.await();
    caller.interrupt();
    assertInstanceOf(ResourceAccessException.class, end.get());
    assertEquals(0, shop.getBean(RetryQueue.class).stats().depth());
    assertEquals(1, upstream.visits.size());
  }

  @Test
  @DisplayName("a request whose own call is deferred is answered with 202 and a trace, and the call goes on")
  void defers() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    answering((nth, exchange) -> {
      Server.reply(exchange, nth < 3 ? 503 : 200, "");
      if (nth == 3) done.countDown();
    });
    HttpResponse<String> answer = post("/orders?to=" + upstream.uri("/invoices"), "tea");
    assertEquals(202, answer.statusCode());
    assertEquals("memory", answer.headers().firstValue("redrive-durability").orElseThrow());
    String taskId = answer.headers().firstValue("redrive-task-id").orElseThrow();
    assertTrue(answer.body().matches("\\{\"status\":\"queued\",\"taskId\":\"" + taskId + "\",\"traceId\":\"[0-9a-f]{32}\",\"durability\":\"memory\"}"), answer.body());
    done.await();
    assertEquals(1, keys());
    answering(200);
    assertEquals("answer 1", post("/orders?to=" + upstream.uri("/invoices"), "tea").body());
  }

  /** A call that is deferred where its first attempt fails, by each client. */
  private List<Supplier<String>> deferring() {
    RestClient client = RestClient.builder().requestFactory(shop.getBean(JdkClientHttpRequestFactory.class))
        .requestInterceptor(shop.getBean(RedriveInterceptor.class).orDefer()).build();
    WebClient reactive = WebClient.builder().filter(shop.getBean(RedriveFilter.class).orDefer()).build();
    return List.of(
        () -> client.post().uri(upstream.uri("/orders")).body("tea").retrieve().body(String.class),
        () -> reactive.post().uri(upstream.uri("/orders")).bodyValue("tea").retrieve().bodyToMono(String.class).block());
  }

  @Test
  @DisplayName("a deferred call follows a redirect within its origin")
  void followsRedirects() throws Exception {
    for (Supplier<String> call : deferring()) {
      answering((nth, exchange) -> {
        exchange.getResponseHeaders().set("Location", "/new");
        Server.reply(exchange, nth == 1 ? 503 : nth == 2 ? 307 : 200, "");
      });
      assertThrows(DeferredException.class, call::get);
      until(() -> upstream.visits.size() == 3);
      assertEquals("POST /new tea", upstream.visits.get(2).method() + " " + upstream.visits.get(2).path() + " " + upstream.visits.get(2).body());
      assertEquals(1, keys());
    }
  }

  @Test
  @DisplayName("a call in a transaction, which its deferral would roll back, is not deferred")
  void transaction() {
    for (Supplier<String> call : deferring()) {
      answering(503, 200);
      assertEquals("answer 2", shop.getBean(TransactionTemplate.class).execute(status -> call.get()));
    }
  }

  private static HttpResponse<String> post(String path, String body) throws IOException, InterruptedException {
    return HttpClient.newHttpClient().send(HttpRequest.newBuilder(address(path)).POST(HttpRequest.BodyPublishers.ofString(body)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private static URI address(String path) {
    return URI.create("http://127.0.0.1:" + shop.getBean(Environment.class).getProperty("local.server.port") + path);
  }

  @Test
  @DisplayName("Actuator shows the queue in numbers")
  void endpoint() throws Exception {
    answering(503, 200);
    shop.getBean(RestClient.class).get().uri(upstream.uri("/")).retrieve().toBodilessEntity();
    String body = HttpClient.newHttpClient().send(HttpRequest.newBuilder(address("/actuator/redrive")).build(), HttpResponse.BodyHandlers.ofString()).body();
    assertTrue(body.contains("\"depth\":"), body);
    assertTrue(body.contains("\"origin\":\"" + upstream.uri("") + "\""), body);
  }

  @Test
  @DisplayName("the meters have the names of docs/observability.md in Prometheus")
  void meters() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    shop.getBean(RedriveMetrics.class).bindTo(registry);
    answering(503, 200);
    shop.getBean(RestClient.class).get().uri(upstream.uri("/")).retrieve().toBodilessEntity();
    String text = registry.scrape();
    assertTrue(text.contains("retry_attempts_total{outcome=\"success\"} 1"), text);
    assertTrue(text.contains("retry_attempts_total{outcome=\"server_error\"} 1"), text);
    assertTrue(text.contains("retry_task_age_seconds_count{outcome=\"succeeded\"} 1"), text);
  }

  @Test
  @DisplayName("a task of the outbox exists if and only if its @Transactional method commits; where there is none, it commits by itself")
  void outbox() throws Exception {
    Shop.Sales sales = shop.getBean(Shop.Sales.class);
    assertThrows(IllegalStateException.class, () -> sales.sell(1, true));
    sales.sell(2, false);
    until(() -> shop.getBean(Outbox.class).waiting() == 0);
    shop.getBean(Outbox.class).add(OutboxTask.post(URI.create("https://api.test/sales")).key("alone"));
    until(() -> service.visits.size() > 1);
    assertEquals(List.of("sale-2", "alone"), service.visits.stream().map(Server.Visit::key).toList());
    assertEquals(1, shop.getBean(JdbcTemplate.class).queryForObject("select count(*) from sales", Integer.class));
  }

  @Test
  @DisplayName("the Spring snippet of the README answers 202 while its upstream is away")
  void readme(@TempDir Path folder) throws Exception {
    answering(503);
    Class<?> snippet = Snippets.compile("Shop", "dev.redrive.readme", upstream.uri(""), folder);
    try (ConfigurableApplicationContext context = new SpringApplicationBuilder(snippet)
        .properties("server.port=0", "spring.main.banner-mode=off", "logging.level.root=warn").run()) {
      URI orders = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + "/orders");
      HttpRequest order = HttpRequest.newBuilder(orders).POST(HttpRequest.BodyPublishers.ofString("tea")).build();
      assertEquals(202, HttpClient.newHttpClient().send(order, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
  }
}

package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against real servers on loopback. */
@Timeout(60)
class RetryHttpClientTest {
  private static final RetryPolicy QUICK = RetryPolicy.interactive().maxAttempts(5).initialDelay(Duration.ofMillis(20));

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : open) each.close();
  }

  private Server server(Server.Handler handler) {
    Server server = new Server(handler);
    open.add(server);
    return server;
  }

  private RetryHttpClient client(QueueBuilder options) {
    RetryQueue queue = options.build();
    open.add(queue);
    return new RetryHttpClient(HttpClient.newHttpClient(), queue);
  }

  private RetryHttpClient client() {
    return client(RetryQueue.builder().policy(QUICK));
  }

  private static HttpRequest get(Server server) {
    return HttpRequest.newBuilder(server.uri("/orders")).build();
  }

  private static HttpRequest.Builder post(Server server, String body) {
    return HttpRequest.newBuilder(server.uri("/orders")).POST(BodyPublishers.ofString(body));
  }

  @Test
  @DisplayName("a good first answer is the caller's, and a GET gets no key")
  void goodAnswer() throws Exception {
    Server server = server(Server.statuses(200));
    HttpResponse<String> response = client().send(get(server), BodyHandlers.ofString());
    assertEquals("answer 1", response.body());
    assertEquals(1, server.visits.size());
    assertNull(server.visits.get(0).key());
  }

  @Test
  @DisplayName("after 503 the call is made again")
  void unavailable() throws Exception {
    Server server = server(Server.statuses(503, 503, 200));
    assertEquals("answer 3", client().send(get(server), BodyHandlers.ofString()).body());
  }

  @Test
  @DisplayName("S9 no attempt follows before the Retry-After of an answer")
  void retryAfter() throws Exception {
    Server server = server((nth, exchange) -> {
      if (nth == 1) exchange.getResponseHeaders().set("Retry-After", "1");
      Server.reply(exchange, nth == 1 ? 503 : 200, "");
    });
    assertEquals(200, client().send(get(server), BodyHandlers.ofString()).statusCode());
    long waited = TimeUnit.NANOSECONDS.toMillis(server.visits.get(1).atNanos() - server.visits.get(0).atNanos());
    assertTrue(waited >= 990, waited + " ms");
  }

  @Test
  @DisplayName("a POST keeps one key over its attempts, and its body; two calls have two keys, and a caller's own key stays")
  void keys() throws Exception {
    Server server = server((nth, exchange) -> Server.reply(exchange, nth % 3 == 0 ? 201 : 503, ""));
    RetryHttpClient client = client();
    for (int i = 0; i < 2; i++) assertEquals(201, client.send(post(server, "order " + i).build(), BodyHandlers.ofString()).statusCode());
    client.send(post(server, "order 2").header("Idempotency-Key", "mine").build(), BodyHandlers.ofString());
    List<String> keys = server.visits.stream().map(Server.Visit::key).toList();
    assertNotNull(keys.get(0));
    for (int i = 0; i < 9; i++) {
      assertEquals(keys.get(i / 3 * 3), keys.get(i));
      assertEquals("order " + i / 3, server.visits.get(i).body());
    }
    assertEquals(3, keys.stream().distinct().count());
    assertEquals("mine", keys.get(8));
  }

  @Test
  @DisplayName("a POST whose body cannot be repeated is sent once")
  void unrepeatable() throws Exception {
    Server server = server(Server.statuses(503));
    HttpRequest once = HttpRequest.newBuilder(server.uri("/orders"))
        .POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream("order".getBytes()))).build();
    assertEquals(503, client().send(once, BodyHandlers.ofString()).statusCode());
    assertEquals(1, server.visits.size());
  }

  @Test
  @DisplayName("an interrupted caller leaves, and nothing is sent afterwards")
  void interrupted() throws Exception {
    Server server = server(Server.statuses(503, 200));
    FakeTicker ticker = new FakeTicker();
    CountDownLatch failed = new CountDownLatch(1);
    QueueBuilder options = RetryQueue.builder().listener(new QueueListener() {
      @Override
      public void attemptEnded(AttemptEnd end) {
        failed.countDown();
      }
    });
    options.ticker = ticker;
    RetryHttpClient client = client(options);
    CompletableFuture<Throwable> end = new CompletableFuture<>();
    Thread caller = new Thread(() -> {
      try {
        end.complete(new AssertionError(client.send(get(server), BodyHandlers.ofString())));
      } catch (Throwable thrown) {
        end.complete(thrown);
      }
    });
    caller.start();
    failed.await();
    caller.interrupt();
    assertInstanceOf(InterruptedException.class, end.get());
    ticker.advance(60_000);
    assertEquals(1, server.visits.size());
  }

  @Test
  @DisplayName("a server that refuses connections is asked again until it is up")
  void refused() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/")).POST(BodyPublishers.ofString("order")).build();
    CompletableFuture<String> failed = new CompletableFuture<>();
    RetryQueue queue = RetryQueue.builder().listener(new QueueListener() {
      @Override
      public void attemptEnded(AttemptEnd end) {
        failed.complete(end.outcome());
      }
    }).build();
    open.add(queue);
    CompletableFuture<HttpResponse<String>> call = new RetryHttpClient(HttpClient.newHttpClient(), queue).sendAsync(request, BodyHandlers.ofString());
    assertEquals("network_error", failed.get());
    Server server = new Server(port, Server.statuses(200));
    open.add(server);
    assertEquals(200, call.get().statusCode());
    assertEquals("order", server.visits.get(0).body());
  }

  @Test
  @DisplayName("a server that hangs meets the time limit of the attempt, and the next one is answered")
  void hangs() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    open.add(over::countDown);
    Server server = server((nth, exchange) -> {
      if (nth == 1) await(over);
      Server.reply(exchange, 200, "answer " + nth);
    });
    RetryHttpClient client = client(RetryQueue.builder().policy(QUICK.attemptTimeout(Duration.ofMillis(200))));
    assertEquals("answer 2", client.send(get(server), BodyHandlers.ofString()).body());
    RetryHttpClient once = client(RetryQueue.builder().policy(QUICK.attemptTimeout(Duration.ofMillis(200)).maxAttempts(1)));
    Server silent = server((nth, exchange) -> await(over));
    HttpTimeoutException error = assertThrows(HttpTimeoutException.class, () -> once.send(get(silent), BodyHandlers.ofString()));
    assertTrue(error.getMessage().contains("attempt 1 had no answer within 200 ms"), error.getMessage());
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("1,000 calls in an outage of their server all succeed")
  void outage() throws Exception {
    long back = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
    Server server = server((nth, exchange) -> Server.reply(exchange, System.nanoTime() < back ? 503 : 200, ""));
    RetryHttpClient client = client(RetryQueue.builder());
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 1_000).mapToObj(i -> client.sendAsync(post(server, "order " + i).build(), BodyHandlers.ofString())).toList();
    for (CompletableFuture<HttpResponse<String>> each : calls) assertEquals(200, each.get().statusCode());
    assertEquals(1_000, server.visits.stream().map(Server.Visit::key).distinct().count());
  }

  @Test
  @DisplayName("a call whose circuit is open beyond its wait fails at once by name")
  void circuitOpen() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/")).build();
    RetryHttpClient client = client(RetryQueue.builder().policy(QUICK.maxAttempts(1)).wait(Duration.ofMillis(100)));
    CircuitOpenException open = null;
    long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (open == null && System.nanoTime() < giveUp) {
      try {
        client.send(request, BodyHandlers.ofString());
      } catch (CircuitOpenException expected) {
        open = expected;
      } catch (IOException refused) {
        // the circuit is closed as yet, or in doubt
      }
    }
    assertEquals("http://127.0.0.1:" + port, open.origin());
  }

  @Test
  @DisplayName("hostile answers hold no caller up: a body without an end, a Retry-After that is none")
  void hostile() throws Exception {
    Server server = server((nth, exchange) -> {
      exchange.getResponseHeaders().set("Retry-After", nth == 1 ? "soon; now \u00e4" : "-1");
      exchange.sendResponseHeaders(503, 0);
      byte[] drop = {'.'};
      try {
        while (!Thread.currentThread().isInterrupted()) exchange.getResponseBody().write(drop);
      } catch (IOException gone) {
        // the client has ended the connection
      }
    });
    RetryHttpClient client = client(RetryQueue.builder().policy(QUICK.attemptTimeout(Duration.ofMillis(300)).maxAttempts(2)));
    assertThrows(HttpTimeoutException.class, () -> client.send(get(server), BodyHandlers.ofString()));
    // a handler that gives the headers at once
    assertEquals(503, client.send(get(server), BodyHandlers.ofInputStream()).statusCode());
    assertEquals(4, server.visits.size());
  }

  @Test
  @DisplayName("a deferred call goes on after its caller has its answer, and where a redirect within its origin leads")
  void defers() throws Exception {
    Server server = server((nth, exchange) -> {
      exchange.getResponseHeaders().set("Location", "/new");
      Server.reply(exchange, nth == 1 ? 503 : nth == 2 ? 308 : 200, "");
    });
    CompletableFuture<QueueListener.CallEnd> ended = new CompletableFuture<>();
    RetryQueue queue = RetryQueue.builder().deferredPolicy(RetryPolicy.background().initialDelay(Duration.ofMillis(20))).listener(new QueueListener() {
      @Override
      public void callEnded(CallEnd end) {
        ended.complete(end);
      }
    }).build();
    open.add(queue);
    RetryHttpClient client = new RetryHttpClient(HttpClient.newHttpClient(), queue);
    DeferredException deferred = assertThrows(DeferredException.class, () -> client.sendOrDefer(post(server, "order").build(), BodyHandlers.ofString()));
    assertEquals(deferred.taskId(), ended.get().taskId());
    assertEquals("succeeded", ended.get().outcome());
    assertEquals(200, ended.get().status());
    assertEquals(1, server.visits.stream().map(Server.Visit::key).distinct().count());
    assertEquals(List.of("/orders order", "/orders order", "/new order"), server.visits.stream().map(visit -> visit.path() + " " + visit.body()).toList());
  }
}

package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What follows which answer, on a clock that stands still. */
class RetryQueueTest {
  private static final URI ORDERS = URI.create("https://api.test/orders");

  private static final Logger LOG = Logger.getLogger("dev.redrive");

  private final FakeTicker ticker = new FakeTicker();
  private Handler handler;
  private final List<QueueListener.AttemptEnd> attempts = new ArrayList<>();
  private final List<QueueListener.CallEnd> ends = new ArrayList<>();
  private final List<String> circuits = new ArrayList<>();
  private final RetryQueue queue = queue(RetryQueue.builder());

  private RetryQueue queue(QueueBuilder builder) {
    builder.ticker = ticker;
    builder.seed = 7;
    return builder.listener(new QueueListener() {
      @Override
      public void attemptEnded(AttemptEnd end) {
        attempts.add(end);
      }

      @Override
      public void callEnded(CallEnd end) {
        ends.add(end);
      }

      @Override
      public void circuitChanged(String origin, String from, String to) {
        circuits.add(origin + " " + from + " " + to);
      }
    }).build();
  }

  @AfterEach
  void close() {
    queue.close();
    if (handler != null) LOG.removeHandler(handler);
    LOG.setUseParentHandlers(true);
  }

  /** A server that answers as its script says, with the instants at which it was asked. */
  private final class Script implements Attempt<String> {
    final Deque<Object> answers = new ArrayDeque<>();
    final List<Double> askedAt = new ArrayList<>();
    final List<String> discarded = new ArrayList<>();
    AttemptContext context;

    /** An int is a status, an answer itself, an exception a failure, a future what comes later. */
    Script(Object... given) {
      answers.addAll(List.of(given));
    }

    @Override
    @SuppressWarnings("unchecked")
    public CompletableFuture<Answer<String>> send(AttemptContext context) {
      this.context = context;
      askedAt.add(ticker.now());
      Object next = answers.size() > 1 ? answers.poll() : answers.peek();
      if (next instanceof RuntimeException thrown) throw thrown;
      if (next instanceof Exception failed) return CompletableFuture.failedFuture(failed);
      if (next instanceof CompletableFuture<?> later) return (CompletableFuture<Answer<String>>) later;
      return CompletableFuture.completedFuture(next instanceof Integer status ? answer(status, Map.of()) : (Answer<String>) next);
    }

    Answer<String> answer(int status, Map<String, List<String>> headers) {
      String value = status + " at " + askedAt.size();
      return new Answer<>(status, headers::forEach, value, () -> discarded.add(value));
    }
  }

  private static Answer<String> asking(int status, String name, String value) {
    return new Answer<>(status, Map.of(name, List.of(value))::forEach, String.valueOf(status), () -> {});
  }

  private static RetryRequest get() {
    return RetryRequest.of("GET", ORDERS, name -> null, true, 0);
  }

  private static Throwable failure(CompletableFuture<?> call) {
    return assertThrows(CompletionException.class, call::join).getCause();
  }

  @Test
  @DisplayName("a good first answer is the caller's, and leaves nothing behind")
  void goodAnswer() {
    Script script = new Script(200);
    assertEquals("200 at 1", queue.call(get(), script).join());
    assertEquals(0, queue.stats().depth());
    assertEquals(0, ticker.timers());
    assertEquals("success", attempts.get(0).outcome());
    assertEquals(List.of(), ends);
  }

  @Test
  @DisplayName("after 503 a call is made again, and the answer that did not count is given up")
  void retries() {
    Script script = new Script(503, 503, 200);
    CompletableFuture<String> call = queue.call(get(), script);
    assertFalse(call.isDone());
    ticker.advance(10_000);
    assertEquals("200 at 3", call.join());
    assertEquals(List.of("503 at 1", "503 at 2"), script.discarded);
    assertEquals("succeeded", ends.get(0).outcome());
    assertNull(ends.get(0).taskId());
  }

  @Test
  @DisplayName("S9 a call that waits alone is made at the moment that its server named")
  void retryAfter() {
    Script script = new Script(asking(503, "Retry-After", "7"), 200);
    CompletableFuture<String> call = queue.call(get(), script);
    ticker.advance(6_999);
    assertEquals(1, script.askedAt.size());
    ticker.advance(1);
    assertEquals("200 at 2", call.join());
    assertEquals(7_000, script.askedAt.get(1) - script.askedAt.get(0));
  }

  @Test
  @DisplayName("a wait that ends after the caller's is not begun")
  void retryAfterTooLong() {
    CompletableFuture<String> call = queue.call(get(), new Script(asking(503, "Retry-After", "31"), 200));
    assertEquals("503", call.join());
    assertEquals("wait_exceeded", ends.get(0).reason());
  }

  @Test
  @DisplayName("a failure that no retry would help is the caller's at once")
  void finalFailures() {
    for (int status : new int[] {400, 401, 404, 500}) {
      Script script = new Script(status, 200);
      assertEquals(status + " at 1", queue.call(get(), script).join());
    }
    assertInstanceOf(IllegalStateException.class, failure(queue.call(get(), new Script(new IllegalStateException("a mistake"), 200))));
  }

  @Test
  @DisplayName("a POST without a key that is not repeatable is sent once")
  void sentOnce() {
    RetryRequest once = RetryRequest.of("POST", ORDERS, name -> null, false, 0);
    assertEquals("503 at 1", queue.call(once, new Script(503, 200)).join());
    RetryRequest unkeyed = new RetryRequest("POST", ORDERS, null, true, 0, null);
    assertEquals("503 at 1", queue.call(unkeyed, new Script(503, 200)).join());
  }

  @Test
  @DisplayName("a lost connection is tried again, and the caller gets its own exception where the attempts are used up")
  void lostConnection() {
    Script script = new Script(new ConnectException("refused"));
    CompletableFuture<String> call = queue.call(get(), script);
    ticker.advance(30_000);
    assertEquals("refused", assertInstanceOf(ConnectException.class, failure(call)).getMessage());
    assertTrue(script.askedAt.size() > 1);
    assertEquals("exhausted", ends.get(0).outcome());
    assertEquals("network_error", attempts.get(0).outcome());
  }

  @Test
  @DisplayName("an attempt without an answer ends at its time limit and is aborted, and a late answer is given up")
  void timeLimit() {
    CompletableFuture<Answer<String>> hanging = new CompletableFuture<>();
    Script script = new Script(hanging, 200);
    CompletableFuture<String> call = queue.call(get(), script);
    assertEquals(Duration.ofSeconds(10), script.context.limit());
    boolean[] aborted = {false};
    script.context.onAbort(() -> aborted[0] = true);
    ticker.advance(9_999);
    assertFalse(aborted[0]);
    ticker.advance(1);
    assertTrue(aborted[0]);
    hanging.complete(script.answer(200, Map.of()));
    assertEquals(1, script.discarded.size());
    ticker.advance(10_000);
    assertEquals("200 at 2", call.join());
    assertEquals("timeout", attempts.get(0).outcome());
  }

  @Test
  @DisplayName("an attempt after one without an answer has twice its limit, and leaves four seconds of its caller's wait for another")
  void slowServer() {
    Script script = new Script(new CompletableFuture<Answer<String>>());
    CompletableFuture<String> call = queue.call(get(), script);
    ticker.advance(25_999);
    assertEquals(2, script.askedAt.size());
    assertFalse(script.context.isAborted());
    ticker.advance(4_001);
    assertEquals(3, script.askedAt.size());
    assertInstanceOf(HttpTimeoutException.class, failure(call));
  }

  @Test
  @DisplayName("the last attempt has no longer than what is left of the caller's wait")
  void lastAttempt() {
    Script script = new Script(asking(503, "Retry-After", "25"), new CompletableFuture<Answer<String>>());
    CompletableFuture<String> call = queue.call(get(), script);
    ticker.advance(25_000);
    assertEquals(Duration.ofSeconds(5), script.context.limit());
    ticker.advance(5_000);
    assertInstanceOf(HttpTimeoutException.class, failure(call));
  }

  @Test
  @DisplayName("a large body adds the time that it needs at 50 KB/s to its limit and its wait")
  void largeBody() {
    Script script = new Script(200);
    queue.call(RetryRequest.of("PUT", ORDERS, name -> null, true, 1_000_000), script).join();
    assertEquals(Duration.ofSeconds(30), script.context.limit());
  }

  @Test
  @DisplayName("a caller that leaves ends its call: an attempt is aborted, and none follows")
  void leaves() {
    Script waiting = new Script(503, 200);
    CompletableFuture<String> first = queue.call(get(), waiting);
    Script running = new Script(503, new CompletableFuture<Answer<String>>());
    CompletableFuture<String> second = queue.call(get(), running);
    Script own = new Script(new CompletableFuture<Answer<String>>());
    CompletableFuture<String> third = queue.call(get(), own);
    first.cancel(true);
    ticker.advance(5_000);
    second.cancel(true);
    third.cancel(true);
    assertTrue(running.context.isAborted());
    assertTrue(own.context.isAborted());
    ticker.advance(60_000);
    assertEquals(List.of(1, 2, 1), List.of(waiting.askedAt.size(), running.askedAt.size(), own.askedAt.size()));
    assertEquals(0, queue.stats().depth());
    assertEquals(List.of("cancelled", "cancelled"), ends.stream().map(QueueListener.CallEnd::outcome).toList());
  }

  @Test
  @DisplayName("a call whose caller has ended it otherwise, as orTimeout does, is not made again")
  void endedByCaller() {
    Script script = new Script(503, 200);
    CompletableFuture<String> call = queue.call(get(), script);
    call.completeExceptionally(new TimeoutException());
    ticker.advance(60_000);
    assertEquals(1, script.askedAt.size());
    assertEquals("cancelled", ends.get(0).outcome());
  }

  @Test
  @DisplayName("an answer that comes while its caller leaves is given up")
  void answerToNoCaller() {
    CompletableFuture<Answer<String>> answer = new CompletableFuture<>();
    Script script = new Script(answer);
    CompletableFuture<String> call = queue.call(get(), script);
    // runs before the queue hears of it
    call.whenComplete((value, left) -> answer.complete(script.answer(200, Map.of())));
    call.cancel(true);
    assertEquals(List.of("200 at 1"), script.discarded);
  }

  /** Lets so many calls fail that the circuit is open beyond doubt. */
  private void openCircuit(RetryQueue queue) {
    for (int i = 0; i < 40; i++) {
      queue.call(get(), new Script(new IOException("down")));
      ticker.advance(1_000);
    }
    assertTrue(circuits.contains("https://api.test CLOSED OPEN"), circuits.toString());
  }

  @Test
  @DisplayName("a call whose circuit stays open beyond its wait fails at once, unsent")
  void circuitOpen() {
    RetryQueue impatient = queue(RetryQueue.builder().wait(Duration.ofMillis(50)).policy(RetryPolicy.interactive().maxAttempts(1)));
    for (int i = 0; i < 60; i++) {
      impatient.call(get(), new Script(new IOException("down")));
      ticker.advance(200);
    }
    Script script = new Script(200);
    CircuitOpenException error = null;
    for (int i = 0; i < 60 && error == null; i++) {
      CompletableFuture<String> call = impatient.call(get(), script);
      if (call.isCompletedExceptionally()) error = assertInstanceOf(CircuitOpenException.class, failure(call));
      else if (!call.isDone()) call.cancel(true);
    }
    assertEquals("https://api.test", error.origin());
    assertTrue(error.getMessage().startsWith("GET https://api.test was not sent: its circuit is open"), error.getMessage());
    impatient.close();
  }

  @Test
  @DisplayName("a call waits at the door of an open circuit, and is let in when the server is back; the log says so")
  void door() {
    List<String> log = logged();
    openCircuit(queue);
    List<CompletableFuture<String>> calls = new ArrayList<>();
    for (int i = 0; i < 5; i++) calls.add(queue.call(get(), new Script(200)));
    ticker.advance(10_000);
    for (CompletableFuture<String> each : calls) assertEquals("200 at 1", each.join());
    assertTrue(circuits.contains("https://api.test HALF_OPEN CLOSED"), circuits.toString());
    assertTrue(log.contains("WARNING: the circuit of https://api.test was CLOSED and is OPEN"), log.toString());
    assertTrue(log.contains("INFO: the circuit of https://api.test was HALF_OPEN and is CLOSED"), log.toString());
  }

  @Test
  @DisplayName("the log says that a deferred call was given up")
  void deferredInVain() {
    List<String> log = logged();
    CompletableFuture<String> call = queue.callOrDefer(get(), new Script(503, 404));
    String taskId = assertInstanceOf(DeferredException.class, failure(call)).taskId();
    ticker.advance(10_000);
    assertTrue(log.contains("SEVERE: deferred call " + taskId + " to https://api.test was given up: not_retryable"), log.toString());
  }

  /** What the queue logs, into a list in place of the console. */
  private List<String> logged() {
    List<String> lines = new ArrayList<>();
    handler = new Handler() {
      @Override
      public void publish(LogRecord line) {
        lines.add(line.getLevel().getName() + ": " + new SimpleFormatter().formatMessage(line));
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
    LOG.addHandler(handler);
    LOG.setUseParentHandlers(false);
    return lines;
  }

  @Test
  @DisplayName("where the queue is full a failed call ends with its own answer")
  void full() {
    try (RetryQueue small = queue(RetryQueue.builder().capacity(1))) {
      CompletableFuture<String> first = small.call(get(), new Script(503, 200));
      assertEquals("503 at 1", small.call(get(), new Script(503)).join());
      ticker.advance(30_000);
      assertEquals("200 at 2", first.join());
    }
  }

  @Test
  @DisplayName("where the queue is full a call before an open circuit is refused by name")
  void fullAtDoor() {
    try (RetryQueue small = queue(RetryQueue.builder().capacity(1))) {
      openCircuit(small);
      List<CompletableFuture<String>> calls = new ArrayList<>();
      for (int i = 0; i < 3; i++) calls.add(small.call(get(), new Script(new CompletableFuture<Answer<String>>())));
      assertEquals("GET https://api.test was not sent: the queue holds 1 calls, its capacity; raise capacity, or call again later",
          assertInstanceOf(QueueFullException.class, failure(calls.get(2))).getMessage());
    }
  }

  @Test
  @DisplayName("an attempt for which no thread is free is put off, and counts as none")
  void noThread() {
    Script script = new Script(503, new RejectedExecutionException("full"), new RejectedExecutionException("full"), 200);
    CompletableFuture<String> call = queue.call(get(), script);
    ticker.advance(30_000);
    assertEquals("200 at 4", call.join());
  }

  @Test
  @DisplayName("a deferred call answers its caller after the first attempt, and goes on alone")
  void defers() {
    RetryRequest traced = RetryRequest.of("POST", ORDERS, name -> name.equals("traceparent") ? "00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01" : null, true, 0);
    Script script = new Script(503, 503, 200);
    CompletableFuture<String> call = queue.callOrDefer(traced, script);
    DeferredException deferred = assertInstanceOf(DeferredException.class, failure(call));
    assertEquals("a".repeat(32), deferred.traceId());
    ticker.advance(60_000);
    assertEquals(3, script.askedAt.size());
    assertEquals(List.of(deferred.taskId()), ends.stream().map(QueueListener.CallEnd::taskId).toList());
    assertEquals("succeeded", ends.get(0).outcome());
    assertEquals(200, ends.get(0).status());
    assertEquals(List.of("503 at 1", "503 at 2", "200 at 3"), script.discarded);
  }

  @Test
  @DisplayName("a deferred call whose failure is final gives it to its caller")
  void defersNothing() {
    assertEquals("404 at 1", queue.callOrDefer(get(), new Script(404)).join());
    assertEquals("200 at 1", queue.callOrDefer(get(), new Script(200)).join());
    assertEquals(List.of(), ends);
  }

  /** Defers a request of this method whose second attempt is answered so: how the call ends. */
  private String deferred(String method, int status, String location) {
    RetryRequest request = RetryRequest.of(method, ORDERS, name -> null, true, 0);
    failure(queue.callOrDefer(request, new Script(503, asking(status, "Location", location))));
    ticker.advance(60_000);
    QueueListener.CallEnd end = ends.remove(0);
    return end.outcome() + " " + end.reason();
  }

  @Test
  @DisplayName("a deferred call that is redirected has not succeeded, unless the redirect answers it; a transport that does not follow ends it")
  void deferredRedirects() {
    for (int status : new int[] {307, 308}) assertEquals("exhausted not_retryable", deferred("POST", status, "/new"));
    for (int status : new int[] {301, 302, 303}) {
      assertEquals("succeeded null", deferred("POST", status, "/new"));
      assertEquals("exhausted not_retryable", deferred("GET", status, "/new"));
      assertEquals("exhausted not_retryable", deferred("POST", status, "https://elsewhere.test/new"));
      assertEquals("exhausted not_retryable", deferred("POST", status, "no address: %"));
    }
    assertEquals("refused", attempts.get(1).outcome());
    assertEquals("succeeded null", deferred("GET", 304, "/new"));
  }

  @Test
  @DisplayName("a call that is deferred while its circuit is open is not sent before")
  void defersUnsent() {
    openCircuit(queue);
    Script script = new Script(200);
    assertInstanceOf(DeferredException.class, failure(queue.callOrDefer(get(), script)));
    assertEquals(0, script.askedAt.size());
    ticker.advance(60_000);
    assertEquals(1, script.askedAt.size());
  }

  @Test
  @DisplayName("a queue that closes gives each caller what there is, and refuses what comes later")
  void closes() {
    CompletableFuture<String> waiting = queue.call(get(), new Script(503, 200));
    Script script = new Script(new IOException("gone"), new CompletableFuture<Answer<String>>());
    CompletableFuture<String> running = queue.call(get(), script);
    ticker.advance(5_000);
    queue.close();
    assertEquals("200 at 2", waiting.join());
    assertEquals("gone", failure(running).getMessage());
    assertTrue(script.context.isAborted());
    assertInstanceOf(QueueClosedException.class, failure(queue.call(get(), new Script(200))));
  }

  @Test
  @DisplayName("the log says how many deferred calls a queue has closed upon")
  void closesOnDeferred() {
    List<String> log = logged();
    for (int i = 0; i < 2; i++) queue.callOrDefer(get(), new Script(503));
    queue.call(get(), new Script(503));
    queue.close();
    assertEquals(List.of("SEVERE: queue default was closed, and 2 deferred calls with it, which are lost"), log);
  }

  @Test
  @DisplayName("a caller at the door of a queue that closes as it is let in is refused by name")
  void closesAtDoor() {
    RetryQueue[] closing = {null};
    RetryQueue other = queue(RetryQueue.builder().policy(RetryPolicy.interactive().maxAttempts(1)).listener(new QueueListener() {
      @Override
      public void circuitChanged(String origin, String from, String to) {
        if (closing[0] != null) closing[0].close();
      }
    }));
    Script script = new Script(503);
    CompletableFuture<String> last = null;
    for (int i = 0; i < 40; i++) {
      last = other.call(get(), script);
      ticker.advance(1_000);
    }
    closing[0] = other;
    int asked = script.askedAt.size();
    ticker.advance(10_000);
    assertEquals(asked, script.askedAt.size());
    assertInstanceOf(QueueClosedException.class, failure(last));
  }

  @Test
  @Timeout(30)
  @DisplayName("a continuation that waits holds up no other call, and no retry runs in the context of another call's caller")
  void timers() throws Exception {
    InheritableThreadLocal<String> user = new InheritableThreadLocal<>();
    user.set("ann");
    CountDownLatch over = new CountDownLatch(1);
    try (RetryQueue real = RetryQueue.builder().wait(Duration.ofMillis(300)).policy(RetryPolicy.interactive().initialDelay(Duration.ofMillis(10)).with("jitterType", "NONE")).build()) {
      CountDownLatch waiting = new CountDownLatch(1);
      real.call(get(), new Script(new CompletableFuture<Answer<String>>())).whenComplete((value, error) -> {
        waiting.countDown();
        await(over);
      });
      waiting.await();
      Script script = new Script(503, 200);
      String[] seen = new String[2];
      String answer = real.call(get(), context -> {
        seen[context.number() - 1] = user.get();
        return script.send(context);
      }).get(10, TimeUnit.SECONDS);
      assertEquals(List.of("200 at 2", "ann"), List.of(answer, seen[0]));
      assertNull(seen[1]);
    } finally {
      over.countDown();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("a listener that throws ends no call")
  void listenerThrows() {
    LOG.setLevel(Level.OFF);
    QueueListener wrong = new QueueListener() {
      @Override
      public void attemptEnded(AttemptEnd end) {
        throw new IllegalStateException("a mistake");
      }
    };
    try (RetryQueue other = queue(RetryQueue.builder().listener(wrong))) {
      assertEquals("200 at 1", other.call(get(), new Script(200)).join());
    } finally {
      LOG.setLevel(null);
    }
  }

  @Test
  @DisplayName("the numbers of a queue say what waits, and at which origin")
  void stats() {
    queue.call(get(), new Script(503, 200));
    queue.call(RetryRequest.of("GET", URI.create("http://OTHER.test:80/"), name -> null, true, 0), new Script(404)).join();
    QueueStats stats = queue.stats();
    assertEquals(1, stats.depth());
    assertEquals(List.of("https://api.test", "http://other.test"), stats.origins().stream().map(QueueStats.Origin::origin).toList());
    assertEquals("CLOSED", stats.origins().get(0).circuit());
  }

  @Test
  @DisplayName("lanes in which nothing is remembered are dropped")
  void manyOrigins() {
    for (int i = 0; i < 3_000; i++) {
      queue.call(RetryRequest.of("GET", URI.create("http://host-" + i + ".test/"), name -> null, true, 0), new Script(404)).join();
      ticker.advance(100);
    }
    assertTrue(queue.stats().origins().size() <= 2_000, queue.stats().origins().size() + " lanes");
  }

  @Test
  @DisplayName("a server that answers no one finds each request once when it goes on")
  void silence() {
    List<CompletableFuture<Answer<String>>> sent = new ArrayList<>();
    double goesOn = ticker.now() + 20_000;
    Attempt<String> attempt = context -> {
      CompletableFuture<Answer<String>> answer = new CompletableFuture<>();
      if (ticker.now() >= goesOn) answer.complete(new Answer<>(200, Map.<String, List<String>>of()::forEach, "late", () -> {}));
      sent.add(answer);
      return answer;
    };
    List<CompletableFuture<String>> calls = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      calls.add(queue.call(get(), attempt));
      ticker.advance(50);
    }
    ticker.advance(goesOn - ticker.now());
    List.copyOf(sent).forEach(answer -> answer.complete(new Answer<>(200, Map.<String, List<String>>of()::forEach, "here", () -> {})));
    ticker.advance(3_000);
    assertTrue(calls.stream().allMatch(call -> call.isDone() && !call.isCompletedExceptionally()));
    assertTrue(sent.size() <= 112, sent.size() + " requests");
  }
}

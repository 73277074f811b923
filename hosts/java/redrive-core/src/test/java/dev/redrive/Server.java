package dev.redrive;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A real server on loopback that answers as a test says, and notes what it was asked. */
public final class Server implements AutoCloseable {
  /** What was asked. */
  public record Visit(String method, String path, String key, String body, Map<String, List<String>> headers, long atNanos) {}

  /** Answers the nth visit, from 1 on. */
  public interface Handler {
    void answer(int nth, HttpExchange exchange) throws IOException;
  }

  static {
    // otherwise an answer waits 40 ms for an acknowledgement between its headers and its body
    System.setProperty("sun.net.httpserver.nodelay", "true");
  }

  public final List<Visit> visits = new CopyOnWriteArrayList<>();
  /** Hears of each visit; by default it is kept. */
  volatile Consumer<Visit> onVisit = visits::add;
  private final AtomicInteger count = new AtomicInteger();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final HttpServer server;

  public Server(Handler handler) {
    this(0, handler);
  }

  Server(int port, Handler handler) {
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_024);
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
    server.setExecutor(threads);
    server.createContext("/", exchange -> {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      String key = exchange.getRequestHeaders().getFirst(RetryRequest.KEY_HEADER);
      onVisit.accept(new Visit(exchange.getRequestMethod(), exchange.getRequestURI().getPath(), key, body, exchange.getRequestHeaders(), System.nanoTime()));
      try {
        handler.answer(count.incrementAndGet(), exchange);
      } finally {
        exchange.close();
      }
    });
    server.start();
  }

  /** How often it was asked. */
  public int count() {
    return count.get();
  }

  /** Keeps no visits. */
  public void ignoreVisits() {
    onVisit = visit -> {};
  }

  int port() {
    return server.getAddress().getPort();
  }

  public URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port() + path);
  }

  /** Each status in turn, the last one for ever. */
  public static Handler statuses(int... statuses) {
    return (nth, exchange) -> reply(exchange, statuses[Math.min(nth, statuses.length) - 1], "answer " + nth);
  }

  public static void reply(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}

package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Processes with an outbox that are killed while they write and relay, beside a real {@code redrive serve}. REDRIVE_SERVICE is the folder of the built
 * service (pkg-service), and REDRIVE_NODE a Node 22.19 or later (node); REDRIVE_KILLS says how often (3), REDRIVE_SEED when.
 */
class OutboxKillTest {
  private static final int KILLS = Integer.parseInt(System.getenv().getOrDefault("REDRIVE_KILLS", "3"));
  private static final long SEED = Long.parseLong(System.getenv().getOrDefault("REDRIVE_SEED", "7"));
  /** A process that is struck has worked for so long at most; one in four has lived for so long at most, and may not have begun. */
  private static final int LIFE_MS = 700;
  private static final long WITHIN_NANOS = TimeUnit.SECONDS.toNanos(60);

  @TempDir
  Path folder;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final Map<String, Integer> visits = new ConcurrentHashMap<>();
  private final Set<String> keys = ConcurrentHashMap.newKeySet();
  private final Set<Process> begun = new HashSet<>();
  private Server target;
  private URI service;

  @AfterEach
  void close() throws Exception {
    while (!open.isEmpty()) open.pop().close();
  }

  @Test
  @DisplayName("of a process with an H2 file that is killed again and again no task is lost, and none is doubled")
  void h2() throws Exception {
    startService();
    // without a delay: what has committed is written before commit() returns
    run("jdbc:h2:file:" + folder.resolve("shop") + ";WRITE_DELAY=0", List.of("a"));
  }

  @Test
  @DisplayName("of two processes with one PostgreSQL that are killed again and again no task is lost, and none is doubled")
  void postgres() throws Exception {
    startService();
    run(startPostgres(), List.of("a", "b"));
  }

  @Test
  @DisplayName("processes with one PostgreSQL that start at once have one table, and one that starts later waits for no transaction")
  void starts() throws Exception {
    DataSource source = KilledChild.source(startPostgres() + "&options=-c%20lock_timeout=2s");
    Outbox outbox = new Outbox(source);
    ExecutorService processes = Executors.newFixedThreadPool(8);
    open.push(processes::shutdownNow);
    Callable<Void> start = () -> {
      outbox.createTable();
      return null;
    };
    for (Future<Void> each : processes.invokeAll(Collections.nCopies(8, start))) each.get();
    try (Connection transaction = source.getConnection()) {
      transaction.setAutoCommit(false);
      outbox.add(transaction, OutboxTask.post(URI.create("https://api.test/")));
      outbox.createTable();
      transaction.commit();
    }
    assertEquals(1, outbox.waiting());
  }

  private void run(String url, List<String> writers) throws Exception {
    DataSource source = KilledChild.source(url);
    KilledChild.createTables(source);
    Random random = new Random(SEED);
    List<Process> children = new ArrayList<>();
    for (String writer : writers) children.add(child(url, writer));
    for (int kill = 0; kill < KILLS; kill++) {
      int struck = random.nextInt(children.size());
      if (random.nextInt(4) > 0) begins(children.get(struck));
      children.get(struck).waitFor(random.nextInt(LIFE_MS), TimeUnit.MILLISECONDS);
      assertTrue(children.get(struck).isAlive(), "the process ended by itself");
      children.get(struck).destroyForcibly().waitFor();
      children.set(struck, child(url, writers.get(struck)));
    }
    for (Process each : children) begins(each);
    for (Process each : children) each.getOutputStream().write('\n');
    for (Process each : children) each.getOutputStream().flush();
    for (Process each : children) await(each, "drained");
    for (Process each : children) each.waitFor();
    within("the service delivers all", () -> waiting() == 0);
    judge(source);
  }

  private void judge(DataSource source) throws SQLException {
    Set<String> orders = new HashSet<>();
    try (Connection connection = source.getConnection()) {
      ResultSet rows = connection.createStatement().executeQuery("select writer, number from orders");
      while (rows.next()) orders.add("order " + rows.getString(1) + " " + rows.getInt(2));
    }
    Set<String> lost = new HashSet<>(orders);
    lost.removeAll(visits.keySet());
    Set<String> unasked = new HashSet<>(visits.keySet());
    unasked.removeAll(orders);
    List<String> doubled = visits.entrySet().stream().filter(each -> each.getValue() > 1).map(Map.Entry::getKey).toList();
    System.out.printf("%d kills, seed %d: %d orders, %d lost, %d doubled, %d never committed%n", KILLS, SEED, orders.size(), lost.size(), doubled.size(),
        unasked.size());
    assertTrue(orders.size() > KILLS, orders.size() + " orders");
    assertEquals(List.of(Set.of(), Set.of(), List.of()), List.of(lost, unasked, doubled));
    assertEquals(orders.size(), keys.size());
  }

  private void startService() throws Exception {
    String built = System.getenv("REDRIVE_SERVICE");
    assumeTrue(built != null, "REDRIVE_SERVICE is not set: the kill run needs the folder of a built redrive service (npm run build makes pkg-service)");
    target = new Server((nth, exchange) -> Server.reply(exchange, 200, ""));
    target.onVisit = visit -> {
      visits.merge(visit.body(), 1, Integer::sum);
      keys.add(visit.key());
    };
    open.push(target);
    int port = freePort();
    service = URI.create("http://127.0.0.1:" + port);
    Process process = new ProcessBuilder(System.getenv().getOrDefault("REDRIVE_NODE", "node"), Path.of(built).resolve("cli.js").toAbsolutePath().toString(), "serve", "--port", "" + port)
        .directory(folder.toFile()).redirectErrorStream(true).redirectOutput(folder.resolve("service.log").toFile()).start();
    open.push(() -> process.destroyForcibly().waitFor());
    within("the service is ready", () -> {
      assertTrue(process.isAlive(), () -> "the service has ended: " + read(folder.resolve("service.log")));
      return status("/readyz") == 200;
    });
  }

  private String startPostgres() throws Exception {
    Path versions = Path.of("/usr/lib/postgresql");
    assumeTrue(Files.isDirectory(versions), "there is no /usr/lib/postgresql: apt-get install postgresql");
    Path bin;
    try (Stream<Path> found = Files.list(versions)) {
      bin = found.sorted(Collections.reverseOrder()).findFirst().orElseThrow().resolve("bin");
    }
    // PostgreSQL does not run as root
    boolean isRoot = System.getProperty("user.name").equals("root");
    List<String> as = isRoot ? List.of("runuser", "-u", "postgres", "--") : List.of();
    Path data = Files.createTempDirectory("redrive-postgres");
    open.push(() -> command(List.of(), "rm", "-rf", data.toString()));
    if (isRoot) command(List.of(), "chown", "postgres", data.toString());
    command(as, bin.resolve("initdb").toString(), "-D", data + "/data", "-U", "shop", "--auth=trust", "--no-sync");
    int port = freePort();
    String settings = "-h 127.0.0.1 -p " + port + " -k " + data;
    command(as, bin.resolve("pg_ctl").toString(), "-D", data + "/data", "-w", "-o", settings, "-l", data + "/log", "start");
    open.push(() -> command(as, bin.resolve("pg_ctl").toString(), "-D", data + "/data", "-m", "immediate", "stop"));
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=shop";
  }

  private void command(List<String> as, String... words) throws IOException, InterruptedException {
    List<String> all = new ArrayList<>(as);
    all.addAll(List.of(words));
    Path log = folder.resolve("command.log");
    int code = new ProcessBuilder(all).directory(new File("/")).redirectErrorStream(true).redirectOutput(log.toFile()).start().waitFor();
    assertEquals(0, code, () -> String.join(" ", all) + ": " + read(log));
  }

  private Process child(String url, String writer) throws IOException {
    Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(), "-cp", System.getProperty("java.class.path"),
        "-XX:TieredStopAtLevel=1", KilledChild.class.getName(), url, service.toString(), target.uri("/orders").toString(), writer)
        .redirectError(folder.resolve("child.log").toFile()).start();
    open.push(() -> process.destroyForcibly().waitFor());
    return process;
  }

  private void begins(Process child) throws IOException {
    if (begun.add(child)) await(child, "ready");
  }

  private void await(Process child, String word) throws IOException {
    String line = line(child.getInputStream());
    assertEquals(word, line, () -> "the process says on its end: " + read(folder.resolve("child.log")));
  }

  /** Byte by byte: nothing behind the line is read. */
  private static String line(InputStream from) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int each = from.read(); each >= 0 && each != '\n'; each = from.read()) line.append((char) each);
    return line.toString();
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0)) {
      return free.getLocalPort();
    }
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void within(String what, Condition condition) throws Exception {
    long until = System.nanoTime() + WITHIN_NANOS;
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < until, what + " within " + TimeUnit.NANOSECONDS.toSeconds(WITHIN_NANOS) + " s");
      Thread.sleep(50);
    }
  }

  private int status(String path) throws IOException, InterruptedException {
    try {
      return HttpClient.newHttpClient().send(HttpRequest.newBuilder(service.resolve(path)).build(), BodyHandlers.discarding()).statusCode();
    } catch (ConnectException starting) {
      return 0;
    }
  }

  private int waiting() throws IOException, InterruptedException {
    String stats = HttpClient.newHttpClient().send(HttpRequest.newBuilder(service.resolve("/stats")).build(), BodyHandlers.ofString()).body();
    JsonNode counts = new ObjectMapper().readTree(stats).get("counts");
    return counts.get("pending").asInt() + counts.get("inFlight").asInt();
  }
}

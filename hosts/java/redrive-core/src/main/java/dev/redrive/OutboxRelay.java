package dev.redrive;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import javax.sql.DataSource;

/**
 * Posts the tasks of an {@link Outbox} to the retry service (docs/service.md), each under its key, and deletes each once the service has it. A relay
 * that dies between the two posts a task again, which the service knows by its key. Several relays, of several processes, share an outbox. Tasks are
 * posted in no certain order.
 */
public final class OutboxRelay implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.redrive");
  /** What is wrong with the task itself, as docs/service.md has it: no other attempt helps. */
  private static final Set<Integer> REFUSALS = Set.of(400, 413, 415, 422);
  private static final int BATCH = 100;
  /** A task that the service did not take waits for as long again as it has waited, within these. The tasks behind it do not. */
  private static final long SHORTEST_PAUSE_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 60_000;
  private static final int MOST_DOUBLINGS = 6;
  private static final int MOST_WORDS = 1_000;

  private final DataSource source;
  private final URI tasks;
  private final String token;
  private final Duration interval;
  private final RetryQueue queue = RetryQueue.builder().name("outbox").wait(Duration.ofSeconds(10)).concurrency(16).build();
  private final RetryHttpClient client = new RetryHttpClient(HttpClient.newHttpClient(), queue);
  private final Thread thread = new Thread(this::run, "redrive-outbox");
  private volatile boolean isClosed;

  /**
   * @param source of the outbox; the relay takes a connection for each batch
   * @param service the address of the service, such as {@code http://127.0.0.1:7733}
   * @param token of the service, with the scope tasks:write; null: it needs none
   * @param interval how long to wait before looking again where nothing was to be posted; 1 ms or longer
   */
  public OutboxRelay(DataSource source, URI service, String token, Duration interval) {
    this.source = OptionException.given("source", source);
    this.tasks = URI.create(OptionException.given("service", service).toString().replaceAll("/$", "") + "/retry-tasks");
    this.token = token;
    this.interval = interval;
    if (interval.toMillis() < 1) throw new OptionException("interval", "expected 1 ms or longer, got " + interval);
    try {
      HttpRequest.newBuilder(tasks);
    } catch (IllegalArgumentException refused) {
      throw new OptionException("service",
          "expected an address that the JDK's client can send to, such as http://127.0.0.1:7733 (no host with a '_'), got " + service);
    }
    thread.setDaemon(true);
  }

  /** Begins to post, on a thread of its own. */
  public OutboxRelay start() {
    thread.start();
    return this;
  }

  /** Ends the thread. What was not posted stays in the outbox. */
  @Override
  public void close() {
    isClosed = true;
    thread.interrupt();
    queue.close();
  }

  private void run() {
    int failures = 0;
    try {
      while (!isClosed) {
        int posted = 0;
        try {
          posted = post();
          failures = 0;
        } catch (SQLException | RuntimeException failed) {
          failures = Math.min(failures + 1, MOST_DOUBLINGS);
          if (!isClosed) LOG.log(System.Logger.Level.WARNING, "the outbox could not be read, and is tried again", failed);
        }
        if (posted == 0) Thread.sleep(failures == 0 ? interval.toMillis() : Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS << failures));
      }
    } catch (InterruptedException closed) {
      // what was not posted stays
    }
  }

  private record Row(String id, String key, String task, long createdAt) {}

  private record Posted(Row row, int status, String problem) {
    boolean isAccepted() {
      return status == 200 || status == 201;
    }

    boolean isRefused() {
      return REFUSALS.contains(status);
    }
  }

  /** Posts a batch: how many tasks have left the outbox or were refused. The rows stay locked meanwhile, so no other relay posts them. */
  int post() throws SQLException {
    return Outbox.transact(source, connection -> {
      List<CompletableFuture<Posted>> posting = claim(connection).stream().map(this::post).toList();
      List<Posted> ended = posting.stream().map(CompletableFuture::join).toList();
      for (Posted each : ended) note(connection, each);
      List<Posted> failed = ended.stream().filter(each -> !each.isAccepted() && !each.isRefused()).toList();
      if (!failed.isEmpty() && !isClosed) {
        LOG.log(System.Logger.Level.WARNING, "{0} did not take {1} tasks of the outbox, which are posted again: {2}", tasks, failed.size(), failed.get(0).problem);
      }
      return ended.size() - failed.size();
    });
  }

  private static List<Row> claim(Connection connection) throws SQLException {
    String select = "select id, task_key, task, created_at from redrive_outbox where refused is null and not_before <= ? order by not_before, created_at limit "
        + BATCH + " for update skip locked";
    List<Row> rows = new ArrayList<>();
    try (PreparedStatement statement = connection.prepareStatement(select)) {
      statement.setLong(1, System.currentTimeMillis());
      ResultSet found = statement.executeQuery();
      while (found.next()) rows.add(new Row(found.getString(1), found.getString(2), found.getString(3), found.getLong(4)));
    }
    return rows;
  }

  private CompletableFuture<Posted> post(Row row) {
    HttpRequest.Builder request = HttpRequest.newBuilder(tasks)
        .header("content-type", "application/json")
        .header(RetryRequest.KEY_HEADER, row.key)
        .POST(BodyPublishers.ofString(row.task));
    if (token != null) request.header("authorization", "Bearer " + token);
    return client.sendAsync(request.build(), BodyHandlers.ofString()).handle((response, thrown) -> posted(row, response, thrown));
  }

  private static Posted posted(Row row, HttpResponse<String> response, Throwable thrown) {
    Throwable error = thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
    if (response == null) return new Posted(row, 0, error.toString());
    String body = response.body();
    return new Posted(row, response.statusCode(), response.statusCode() + " " + body.substring(0, Math.min(MOST_WORDS, body.length())));
  }

  private void note(Connection connection, Posted posted) throws SQLException {
    Row row = posted.row;
    if (posted.isAccepted()) {
      Outbox.update(connection, "delete from redrive_outbox where id = ?", row.id);
    } else if (posted.isRefused()) {
      LOG.log(System.Logger.Level.ERROR, "the service refused task {0} of the outbox: {1}", row.key, posted.problem);
      Outbox.update(connection, "update redrive_outbox set refused = ? where id = ?", posted.problem, row.id);
    } else if (!isClosed) {
      long now = System.currentTimeMillis();
      long pause = Math.max(SHORTEST_PAUSE_MS, Math.min(LONGEST_PAUSE_MS, now - row.createdAt));
      Outbox.update(connection, "update redrive_outbox set not_before = ? where id = ?", now + pause, row.id);
    }
  }
}

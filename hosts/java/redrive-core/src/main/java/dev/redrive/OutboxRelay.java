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
import java.util.concurrent.ThreadLocalRandom;
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
    // the check of the address is that of any request
    new RetryRequest("POST", tasks, null, true, 0, null);
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
          failures++;
          if (!isClosed) LOG.log(System.Logger.Level.WARNING, "the outbox was not posted to " + tasks + " and is tried again", failed);
        }
        if (posted == 0) Thread.sleep(failures == 0 ? interval.toMillis() : pauseMs(failures));
      }
    } catch (InterruptedException closed) {
      // what was not posted stays
    }
  }

  /** The wait of the background policy after so many failures in a row. */
  private static long pauseMs(int failures) {
    double[] row = RetryPolicy.background().row();
    double[] args = new double[row.length + 4];
    args[0] = failures;
    args[1] = 1L << 31;
    args[2] = Integer.toUnsignedLong(ThreadLocalRandom.current().nextInt());
    args[3] = Double.NaN;
    System.arraycopy(row, 0, args, 4, row.length);
    return (long) Core.shared().run(Codes.OP_DELAY, args)[0];
  }

  private record Row(String id, String key, String task) {}

  private record Posted(Row row, int status, String problem, Throwable error) {
    boolean isAccepted() {
      return status == 200 || status == 201;
    }

    boolean isRefused() {
      return REFUSALS.contains(status);
    }
  }

  /**
   * Posts a batch: how many tasks have left the outbox or were refused. The rows stay locked meanwhile, so no other relay posts them. An exception: the
   * database failed, or the service took none for a reason that is not the tasks'.
   */
  int post() throws SQLException {
    try (Connection connection = source.getConnection()) {
      boolean autoCommit = connection.getAutoCommit();
      connection.setAutoCommit(false);
      try {
        List<CompletableFuture<Posted>> posting = claim(connection).stream().map(this::post).toList();
        List<Posted> ended = posting.stream().map(CompletableFuture::join).toList();
        for (Posted each : ended) note(connection, each);
        connection.commit();
        Posted failed = ended.stream().filter(each -> !each.isAccepted() && !each.isRefused()).findFirst().orElse(null);
        if (failed != null) throw new IllegalStateException(failed.error != null ? failed.error.toString() : failed.status + " " + failed.problem);
        return ended.size();
      } catch (SQLException | RuntimeException failed) {
        connection.rollback();
        throw failed;
      } finally {
        connection.setAutoCommit(autoCommit);
      }
    }
  }

  private static List<Row> claim(Connection connection) throws SQLException {
    String select = "select id, task_key, task from redrive_outbox where refused is null order by created_at limit " + BATCH + " for update skip locked";
    List<Row> rows = new ArrayList<>();
    try (PreparedStatement statement = connection.prepareStatement(select); ResultSet found = statement.executeQuery()) {
      while (found.next()) rows.add(new Row(found.getString(1), found.getString(2), found.getString(3)));
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
    if (response == null) return new Posted(row, 0, "", error);
    String body = response.body();
    return new Posted(row, response.statusCode(), body.substring(0, Math.min(MOST_WORDS, body.length())), null);
  }

  private static void note(Connection connection, Posted posted) throws SQLException {
    if (posted.isAccepted()) {
      try (PreparedStatement statement = connection.prepareStatement("delete from redrive_outbox where id = ?")) {
        statement.setString(1, posted.row.id);
        statement.executeUpdate();
      }
    } else if (posted.isRefused()) {
      LOG.log(System.Logger.Level.ERROR, "the service refused task {0} of the outbox: {1} {2}", posted.row.key, posted.status, posted.problem);
      try (PreparedStatement statement = connection.prepareStatement("update redrive_outbox set refused = ? where id = ?")) {
        statement.setString(1, posted.status + " " + posted.problem);
        statement.setString(2, posted.row.id);
        statement.executeUpdate();
      }
    }
  }
}

package dev.redrive;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;

/**
 * A transactional outbox: a task is written in the caller's own transaction, so it exists if and only if that commits. An {@link OutboxRelay} posts it
 * to the retry service. PostgreSQL and H2 (2.2 or later).
 */
public final class Outbox {
  private static final String[] TABLE = {
    """
    create table redrive_outbox (
      id varchar(36) primary key,
      task_key varchar(255) not null,
      task text not null,
      created_at bigint not null,
      not_before bigint default 0 not null,
      refused text)
    """,
    "create index redrive_outbox_next on redrive_outbox (not_before, created_at)",
  };

  private final DataSource source;
  private final BooleanSupplier isInTransaction;

  /** {@code source}: where {@link #add(OutboxTask)} gets a connection, which has to be in auto-commit. */
  public Outbox(DataSource source) {
    this(source, () -> {
      throw new IllegalStateException("the task was not added: the connection is not in auto-commit, so it is not known who commits; give add() the connection of"
          + " your transaction, or the outbox an isInTransaction");
    });
  }

  /**
   * {@code source} knows the caller's transaction, as Spring's {@code TransactionAwareDataSourceProxy} does; {@code isInTransaction} says whether there
   * is one. Where there is none, {@link #add(OutboxTask)} commits by itself.
   */
  public Outbox(DataSource source, BooleanSupplier isInTransaction) {
    this.source = OptionException.given("source", source);
    this.isInTransaction = OptionException.given("isInTransaction", isInTransaction);
  }

  /** Creates the table {@code redrive_outbox}, unless it is there. It commits, so call it in no transaction. Processes may do so at the same time. */
  public void createTable() throws SQLException {
    // looked for first: to create what is there may wait for all open transactions, and have all others wait
    if (isThere()) return;
    try {
      transact(source, connection -> {
        for (String each : TABLE) update(connection, each);
        return 0;
      });
    } catch (SQLException failed) {
      // another process was faster
      if (!isThere()) throw failed;
    }
  }

  private boolean isThere() {
    try {
      return count("not_before is null") == 0;
    } catch (SQLException missing) {
      return false;
    }
  }

  interface Work {
    int with(Connection connection) throws SQLException;
  }

  /** Does work in a transaction of its own. */
  static int transact(DataSource source, Work work) throws SQLException {
    try (Connection connection = source.getConnection()) {
      boolean autoCommit = connection.getAutoCommit();
      connection.setAutoCommit(false);
      try {
        int done = work.with(connection);
        connection.commit();
        return done;
      } catch (SQLException | RuntimeException failed) {
        connection.rollback();
        throw failed;
      } finally {
        connection.setAutoCommit(autoCommit);
      }
    }
  }

  /** Writes a task with a connection of the data source. */
  public void add(OutboxTask task) throws SQLException {
    try (Connection connection = source.getConnection()) {
      boolean isOwn = !connection.getAutoCommit() && !isInTransaction.getAsBoolean();
      add(connection, task);
      if (isOwn) connection.commit();
    }
  }

  /** Writes a task in the transaction of a connection, which stays open. */
  public void add(Connection connection, OutboxTask task) throws SQLException {
    update(connection, "insert into redrive_outbox (id, task_key, task, created_at) values (?, ?, ?, ?)",
        UUID.randomUUID().toString(), task.key(), task.toJson(), System.currentTimeMillis());
  }

  static void update(Connection connection, String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
      statement.executeUpdate();
    }
  }

  /** Tasks that wait to be posted. */
  public long waiting() throws SQLException {
    return count("refused is null");
  }

  /** Tasks that the service has refused: column {@code refused} says why, and to set it to null has them posted again. */
  public long refused() throws SQLException {
    return count("refused is not null");
  }

  private long count(String where) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("select count(*) from redrive_outbox where " + where)) {
      rows.next();
      return rows.getLong(1);
    }
  }
}

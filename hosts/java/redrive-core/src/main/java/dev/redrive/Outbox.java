package dev.redrive;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * A transactional outbox: a task is written in the caller's own transaction, so it exists if and only if that commits. An {@link OutboxRelay} posts it
 * to the retry service. PostgreSQL and H2 (2.2 or later).
 */
public final class Outbox {
  private static final String[] TABLE = {
    """
    create table if not exists redrive_outbox (
      id varchar(36) primary key,
      task_key varchar(255) not null,
      task text not null,
      created_at bigint not null,
      refused text)
    """,
    "create index if not exists redrive_outbox_created on redrive_outbox (created_at)",
  };

  private final DataSource source;

  /** {@code source}: where {@link #add(OutboxTask)} gets its connection. Of one that knows the caller's transaction, as Spring's
   * {@code TransactionAwareDataSourceProxy} does, that is the transaction's. */
  public Outbox(DataSource source) {
    this.source = OptionException.given("source", source);
  }

  /** Creates the table {@code redrive_outbox}, unless it is there. */
  public void createTable() throws SQLException {
    try (Connection connection = source.getConnection(); Statement statement = connection.createStatement()) {
      for (String each : TABLE) statement.execute(each);
    }
  }

  /** Writes a task with a connection of the data source. */
  public void add(OutboxTask task) throws SQLException {
    try (Connection connection = source.getConnection()) {
      add(connection, task);
    }
  }

  /** Writes a task in the transaction of a connection, which stays open. */
  public void add(Connection connection, OutboxTask task) throws SQLException {
    String insert = "insert into redrive_outbox (id, task_key, task, created_at) values (?, ?, ?, ?)";
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      statement.setString(1, UUID.randomUUID().toString());
      statement.setString(2, task.key());
      statement.setString(3, task.toJson());
      statement.setLong(4, System.currentTimeMillis());
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

package dev.redrive;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The process that is killed: it writes orders, each in a transaction with its task, and relays them. Arguments: the database, the service, the target,
 * and the writer's name. A line on its standard input stops it: it writes no more, and ends once its outbox is empty.
 */
final class KilledChild {
  private KilledChild() {}

  static DataSource source(String url) {
    if (url.startsWith("jdbc:postgresql:")) {
      PGSimpleDataSource source = new PGSimpleDataSource();
      source.setUrl(url);
      return source;
    }
    JdbcDataSource source = new JdbcDataSource();
    source.setUrl(url);
    return source;
  }

  static void createTables(DataSource source) throws SQLException {
    new Outbox(source).createTable();
    try (Connection connection = source.getConnection()) {
      connection.createStatement().execute("create table if not exists orders (writer varchar(10), number int, primary key (writer, number))");
    }
  }

  public static void main(String[] args) throws Exception {
    DataSource source = source(args[0]);
    URI target = URI.create(args[2]);
    String writer = args[3];
    Outbox outbox = new Outbox(source);
    Thread stop = new Thread(KilledChild::readLine);
    stop.setDaemon(true);
    stop.start();
    try (OutboxRelay relay = new OutboxRelay(source, URI.create(args[1]), null, Duration.ofMillis(20)).start(); Connection connection = source.getConnection()) {
      connection.setAutoCommit(false);
      int number = last(connection, writer);
      System.out.println("ready");
      while (stop.isAlive()) {
        number++;
        // one in five is rolled back first: nothing of it may be seen
        if (number % 5 == 0) {
          write(connection, outbox, target, writer, number, "rolled back");
          connection.rollback();
        }
        write(connection, outbox, target, writer, number, "order");
        connection.commit();
        Thread.sleep(3);
      }
      while (outbox.waiting() > 0) Thread.sleep(20);
    }
    System.out.println("drained");
  }

  private static void readLine() {
    try {
      new BufferedReader(new InputStreamReader(System.in)).readLine();
    } catch (IOException gone) {
      // its parent is gone: it ends as if it had been asked
    }
  }

  private static int last(Connection connection, String writer) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("select coalesce(max(number), 0) from orders where writer = ?")) {
      statement.setString(1, writer);
      ResultSet found = statement.executeQuery();
      found.next();
      int number = found.getInt(1);
      connection.commit();
      return number;
    }
  }

  private static void write(Connection connection, Outbox outbox, URI target, String writer, int number, String what) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("insert into orders values (?, ?)")) {
      statement.setString(1, writer);
      statement.setInt(2, number);
      statement.executeUpdate();
    }
    outbox.add(connection, OutboxTask.post(target).body(Core.bytes(what + " " + writer + " " + number), "text/plain"));
  }
}

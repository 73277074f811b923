package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OutboxTest {
  private static final URI ORDERS = URI.create("https://api.test/orders");

  private final JdbcDataSource source = new JdbcDataSource();
  private Connection open;
  private Outbox outbox;

  @BeforeEach
  void create() throws SQLException {
    source.setUrl("jdbc:h2:mem:outbox");
    open = source.getConnection();
    outbox = new Outbox(source);
    outbox.createTable();
    outbox.createTable();
  }

  @AfterEach
  void drop() throws SQLException {
    open.createStatement().execute("shutdown");
  }

  private OutboxRelay relay(Server service) {
    return new OutboxRelay(source, service.uri("/"), "secret-token", Duration.ofMillis(5));
  }

  private static OutboxTask order(int number) {
    return OutboxTask.post(ORDERS).json("{\"order\":" + number + "}");
  }

  @Test
  @DisplayName("a task exists if and only if its transaction commits")
  void transactions() throws SQLException {
    open.setAutoCommit(false);
    outbox.add(open, order(1));
    open.rollback();
    assertEquals(0, outbox.waiting());
    outbox.add(open, order(2));
    open.commit();
    assertEquals(1, outbox.waiting());
    outbox.add(order(3));
    assertEquals(2, outbox.waiting());
  }

  @Test
  @DisplayName("a relay posts each task under its key, with its token, and deletes it")
  void posts() throws Exception {
    outbox.add(OutboxTask.request("PUT", ORDERS).header("X-Request-Id", "a \"b\"\u0001").json("{\"order\":1}").key("order-1").field("policyId", "slow"));
    try (Server service = new Server(Server.statuses(201)); OutboxRelay relay = relay(service)) {
      assertEquals(1, relay.post());
      Server.Visit visit = service.visits.get(0);
      assertEquals("/retry-tasks", visit.path());
      assertEquals("order-1", visit.key());
      assertEquals("Bearer secret-token", visit.headers().get("Authorization").get(0));
      JsonNode task = new ObjectMapper().readTree(visit.body());
      assertEquals("PUT", task.get("method").asText());
      assertEquals(ORDERS.toString(), task.get("targetUrl").asText());
      assertEquals("order-1", task.get("idempotencyKey").asText());
      assertEquals("slow", task.get("policyId").asText());
      assertEquals("a \"b\"\u0001", task.get("headers").get("X-Request-Id").asText());
      assertEquals("{\"order\":1}", new String(Base64.getDecoder().decode(task.get("body").asText())));
    }
    assertEquals(0, outbox.waiting());
  }

  @Test
  @DisplayName("a task that the service knows already is deleted, one that it refuses stays apart with its words")
  void refusals() throws Exception {
    for (int i = 0; i < 2; i++) outbox.add(order(i));
    try (Server service = new Server((nth, exchange) -> Server.reply(exchange, nth == 1 ? 200 : 422, "url-secret")); OutboxRelay relay = relay(service)) {
      assertEquals(2, relay.post());
      assertEquals(0, relay.post());
    }
    assertEquals(0, outbox.waiting());
    assertEquals(1, outbox.refused());
  }

  @Test
  @DisplayName("a task that the service does not take for now stays, waits before it is posted again, and holds up no other")
  void away() throws Exception {
    outbox.add(order(1).key("bad"));
    Server.Handler handler = (nth, exchange) -> Server.reply(exchange, exchange.getRequestHeaders().getFirst("Idempotency-Key").equals("bad") ? 500 : 201, "");
    try (Server service = new Server(handler); OutboxRelay relay = relay(service)) {
      assertEquals(0, relay.post());
      outbox.add(order(2));
      assertEquals(1, relay.post());
      assertEquals(2, service.visits.size());
    }
    assertEquals(1, outbox.waiting());
  }

  @Test
  @DisplayName("on a pool without auto-commit the table is committed, and a task where there is no transaction; where that is not known it is refused")
  void noAutoCommit() throws SQLException {
    open.createStatement().execute("drop table redrive_outbox");
    boolean[] isInTransaction = {false};
    DataSource pool = (DataSource) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, args) -> {
      Connection connection = source.getConnection();
      connection.setAutoCommit(false);
      return connection;
    });
    Outbox own = new Outbox(pool, () -> isInTransaction[0]);
    own.createTable();
    own.add(order(1));
    assertEquals(1, outbox.waiting());
    isInTransaction[0] = true;
    own.add(order(2));
    assertEquals(1, outbox.waiting());
    assertThrows(IllegalStateException.class, () -> new Outbox(pool).add(order(3)));
  }

  @Test
  @DisplayName("two relays post no task twice, and begun they post what comes")
  void shared() throws Exception {
    int count = 500;
    CountDownLatch all = new CountDownLatch(count);
    try (Server service = new Server((nth, exchange) -> {
      Server.reply(exchange, 201, "");
      all.countDown();
    }); OutboxRelay first = relay(service).start(); OutboxRelay second = relay(service).start()) {
      for (int i = 0; i < count; i++) outbox.add(order(i));
      all.await();
      assertEquals(count, service.visits.stream().map(Server.Visit::key).distinct().count());
      assertEquals(count, service.visits.size());
    }
  }

  @Test
  @DisplayName("S12 no credential is stored: neither a header's, nor a value's, nor an address's")
  void secrets() {
    OutboxTask task = OutboxTask.post(ORDERS);
    for (String name : new String[] {"Authorization", "Cookie", "X-Api-Key", "X-Own", "bad name", "accept\nx-own"}) {
      assertThrows(OptionException.class, () -> task.header(name, "v"), name);
    }
    assertThrows(OptionException.class, () -> task.header("X-Request-Id", "Bearer not-a-token-at-all"));
    assertThrows(OptionException.class, () -> OutboxTask.post(URI.create("https://api.test/?api_key=EXAMPLE0")));
    assertThrows(OptionException.class, () -> OutboxTask.post(URI.create("https://user:pass@api.test/")));
    assertFalse(task.header("Host", "other.test").toJson().contains("other.test"));
    assertTrue(task.header("Accept", "text/plain").toJson().contains("\"Accept\":\"text/plain\""));
  }

  @Test
  @DisplayName("a wrong key or field is an error by name")
  void wrongFields() {
    OutboxTask task = OutboxTask.post(ORDERS);
    assertEquals("field: expected one of [credential, orderKey, policyId, signing], got color",
        assertThrows(OptionException.class, () -> task.field("color", "red")).getMessage());
    assertThrows(OptionException.class, () -> task.key("a b"));
    assertEquals("order-1", task.key("order-1").key());
  }
}

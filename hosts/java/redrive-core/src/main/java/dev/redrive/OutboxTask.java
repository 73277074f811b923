package dev.redrive;

import java.net.URI;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/**
 * A request that is written in a transaction and made after it: a task of docs/service.md. Immutable: each method gives a new task. What may hold a
 * credential is refused by an {@link OptionException}: a header that the core does not know as harmless (docs/headers.md), a value or an address that
 * looks like a secret. Name a credential of the service instead: {@code field("credential", "billing")}.
 */
public final class OutboxTask {
  /** Fields of a task that are text, beside those that have a method here. */
  private static final Set<String> FIELDS = Set.of("policyId", "credential", "signing", "orderKey");

  private final Map<String, String> fields;
  private final Map<String, String> headers;

  private OutboxTask(Map<String, String> fields, Map<String, String> headers) {
    this.fields = fields;
    this.headers = headers;
  }

  /** A POST. {@code target}: absolute, http or https, without a secret. */
  public static OutboxTask post(URI target) {
    return request("POST", target);
  }

  /** A request of any method, in upper case. */
  public static OutboxTask request(String method, URI target) {
    String address = target.toString();
    // the check of the address is that of any request
    new RetryRequest(method, target, null, true, 0, null);
    boolean isSecret = !address.equals(Core.shared().transform(Codes.OP_STRIP_SECRETS, address)) || looksSecret(address);
    String origin = RetryRequest.originOf(target);
    if (isSecret) throw new OptionException("target", "expected an address without a secret, and that at " + origin + " has one; name a credential");
    return new OutboxTask(Map.of("method", method, "targetUrl", address, "idempotencyKey", UUID.randomUUID().toString()), Map.of());
  }

  /** A header. One that belongs to a connection, such as {@code Host}, is left out, as each attempt gets its own. */
  public OutboxTask header(String name, String value) {
    // one for each line
    double[] kinds = Core.shared().runText(Codes.OP_HEADERS, Core.bytes(name));
    int kind = kinds.length == 1 ? (int) kinds[0] : Codes.HEADER_REFUSED;
    if (kind == Codes.HEADER_DROPPED) return this;
    if (kind != Codes.HEADER_KEPT) {
      String why = kind == Codes.HEADER_WITHHELD ? "carries a credential" : kind == Codes.HEADER_UNKNOWN ? "may carry a credential" : "is no name of a header";
      throw new OptionException("header", "expected one that may be stored (docs/headers.md), and '" + name + "' " + why + "; name a credential instead");
    }
    if (looksSecret(value)) throw new OptionException("header", "the value of '" + name + "' looks like a secret and is not stored; name a credential instead");
    return new OutboxTask(fields, with(headers, name, value));
  }

  /** The body, and its {@code Content-Type}. It is stored as it is. */
  public OutboxTask body(byte[] bytes, String contentType) {
    return new OutboxTask(with(with(fields, "body", Base64.getEncoder().encodeToString(bytes)), "bodyEncoding", "base64"), headers)
        .header("content-type", contentType);
  }

  /** A body of JSON. */
  public OutboxTask json(String text) {
    return body(Core.bytes(text), "application/json");
  }

  /** The key, from the client through to the target: 1 to 255 visible ASCII characters. Two tasks of one key are one. Default: a random one. */
  public OutboxTask key(String key) {
    if (!key.matches("[!-~]{1,255}")) throw new OptionException("key", "expected 1 to 255 visible ASCII characters, got " + key.length() + " characters");
    return new OutboxTask(with(fields, "idempotencyKey", key), headers);
  }

  /** Another field of a task: policyId, credential, signing or orderKey. */
  public OutboxTask field(String name, String value) {
    if (!FIELDS.contains(name)) throw new OptionException("field", "expected one of " + new TreeSet<>(FIELDS) + ", got " + name);
    return new OutboxTask(with(fields, name, OptionException.given(name, value)), headers);
  }

  /** The key of the task. */
  public String key() {
    return fields.get("idempotencyKey");
  }

  private static boolean looksSecret(String value) {
    return Core.shared().runText(Codes.OP_SECRETS, Core.bytes(value.replace('\n', ' ')))[0] == 1;
  }

  private static Map<String, String> with(Map<String, String> map, String name, String value) {
    Map<String, String> changed = new LinkedHashMap<>(map);
    changed.put(name, value);
    return changed;
  }

  /** The body of the POST that enqueues it. */
  String toJson() {
    StringBuilder json = new StringBuilder("{");
    new TreeMap<>(fields).forEach((name, value) -> json.append(quoted(name)).append(':').append(quoted(value)).append(','));
    json.append("\"headers\":{");
    new TreeMap<>(headers).forEach((name, value) -> json.append(json.charAt(json.length() - 1) == '{' ? "" : ",").append(quoted(name)).append(':').append(quoted(value)));
    return json.append("}}").toString();
  }

  private static String quoted(String text) {
    StringBuilder json = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      if (each == '"' || each == '\\') json.append('\\').append(each);
      else if (each < ' ') json.append(String.format("\\u%04x", (int) each));
      else json.append(each);
    }
    return json.append('"').toString();
  }
}

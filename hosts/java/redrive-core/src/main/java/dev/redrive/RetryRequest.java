package dev.redrive;

import java.net.URI;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the queue knows of a request. It never sees the body.
 *
 * @param method in upper case
 * @param uri absolute, http or https
 * @param key the value of {@code Idempotency-Key}, the same in every attempt; null: it has none
 * @param repeatable whether the same bytes can be sent again; false: the request is sent once
 * @param bodyBytes the size of the body in bytes; 0 if it has none, or the size is not known
 * @param traceparent the header of that name (W3C Trace Context); null: it has none
 */
public record RetryRequest(String method, URI uri, String key, boolean repeatable, long bodyBytes, String traceparent) {
  /** The header that carries the key. */
  public static final String KEY_HEADER = "Idempotency-Key";

  /** RFC 9110, 9.2.2: the same effect once or several times. */
  private static final Set<String> IDEMPOTENT = Set.of("GET", "HEAD", "OPTIONS", "PUT", "DELETE");
  private static final Set<String> KEYED = Set.of("POST", "PUT", "PATCH", "DELETE");
  /** Scheme, host and port. {@link URI} itself reads no host with an underscore, as services in a network of Docker have. */
  private static final Pattern PLACE = Pattern.compile("(https?)://(?:.*@)?(\\[.*]|[\\w.-]+)(?::(\\d{0,5}))?");

  /** OptionException: the address is not absolute, or not http or https. */
  public RetryRequest {
    if (originOf(uri) == null) {
      throw new OptionException("uri", "expected an absolute address, http or https, got scheme " + uri.getScheme() + " and host " + uri.getHost());
    }
    if (bodyBytes < 0) throw new OptionException("bodyBytes", "expected 0 or more, got " + bodyBytes);
  }

  /**
   * Describes a request. One that may have an effect (POST, PUT, PATCH, DELETE) gets a random key, which its transport has to put into
   * {@link #KEY_HEADER}; a key of the caller's own stays.
   *
   * @param header gives the value of a header of the request, or null
   */
  public static RetryRequest of(String method, URI uri, UnaryOperator<String> header, boolean repeatable, long bodyBytes) {
    String own = header.apply(KEY_HEADER);
    String key = own == null && KEYED.contains(method) ? UUID.randomUUID().toString() : own;
    return new RetryRequest(method, uri, key, repeatable, bodyBytes, header.apply("traceparent"));
  }

  /** Scheme, host and port: the requests to one origin share a circuit, a retry budget and a server's waits. */
  public String origin() {
    return originOf(uri);
  }

  /** The origin of an address; null: it is not absolute, or not http or https. */
  static String originOf(URI uri) {
    String authority = uri.getRawAuthority();
    Matcher place = PLACE.matcher((uri.getScheme() + "://" + authority).toLowerCase(Locale.ROOT));
    if (authority == null || !place.matches()) return null;
    String port = place.group(3);
    boolean isUsual = port == null || port.isEmpty() || port.equals(place.group(1).equals("https") ? "443" : "80");
    return place.group(1) + "://" + place.group(2) + (isUsual ? "" : ":" + port);
  }

  /** Method and origin, for messages: a path may hold a secret. */
  String what() {
    return method + " " + origin();
  }

  int flags() {
    boolean isReplayable = repeatable && (key != null || IDEMPOTENT.contains(method));
    return (isReplayable ? Codes.FLAG_REPLAYABLE : 0) | (key == null ? 0 : Codes.FLAG_KEYED);
  }
}

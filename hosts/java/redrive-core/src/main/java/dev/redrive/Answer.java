package dev.redrive;

import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * @param <A> what the caller gets: a transport's own response
 * @param status 100 to 599
 * @param headers goes through the headers: calls what it is given with each name and its values
 * @param value the transport's own response
 * @param discard gives up the connection behind an answer that no caller gets; called once at most
 */
public record Answer<A>(int status, Consumer<BiConsumer<? super String, ? super List<String>>> headers, A value, Runnable discard) {
  private static final Pattern NAMES_A_WAIT = Pattern.compile("retry-after|rate-?limit", Pattern.CASE_INSENSITIVE);

  /** The lines that may name a wait, as the core reads them; empty: there are none. */
  String waitLines(boolean failed) {
    StringBuilder lines = new StringBuilder();
    StringBuilder date = new StringBuilder();
    headers.accept((name, values) -> {
      String lower = name.toLowerCase(Locale.ROOT);
      boolean isDate = lower.equals("date");
      boolean counts = failed ? NAMES_A_WAIT.matcher(lower).find() : lower.equals("ratelimit");
      if (!isDate && !counts) return;
      for (String value : values) (isDate ? date : lines).append(lower).append(':').append(value).append('\n');
    });
    return lines.isEmpty() ? "" : date.append(lines).toString();
  }

  /** The first value of a header; null: there is none. */
  String header(String wanted) {
    String[] found = {null};
    headers.accept((name, values) -> {
      if (name.equalsIgnoreCase(wanted) && !values.isEmpty()) found[0] = values.get(0);
    });
    return found[0];
  }

  /** Whether it says that it was stored under the request's key, and is given again. */
  boolean isReplayed() {
    return "true".equals(header("idempotent-replayed")) || "true".equals(header("idempotency-replayed"));
  }
}

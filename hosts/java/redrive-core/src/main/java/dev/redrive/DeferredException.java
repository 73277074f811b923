package dev.redrive;

import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The first attempt has failed in a way that may pass, and the call goes on by itself. It is no failure: the answer to it is a 202. */
public final class DeferredException extends RedriveException {
  /** W3C Trace Context: version, trace, span, flags. */
  private static final Pattern TRACEPARENT = Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*");

  private final String taskId;
  private final String traceId;

  DeferredException(RetryRequest request, String taskId, Throwable cause) {
    super(request.what() + " goes on as task " + taskId + ": answer with a 202", cause);
    this.taskId = taskId;
    this.traceId = traceIdOf(request.traceparent());
  }

  /** The id of the call from now on, a UUID. {@link QueueListener.CallEnd} has it, too. */
  public String taskId() {
    return taskId;
  }

  /** The trace that the call belongs to: 32 hex digits, those of its {@code traceparent} where it has one, else random ones. */
  public String traceId() {
    return traceId;
  }

  private static String traceIdOf(String traceparent) {
    Matcher found = TRACEPARENT.matcher(traceparent == null ? "" : traceparent);
    if (found.matches()) return found.group(1);
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return String.format("%016x%016x", random.nextLong(), random.nextLong());
  }
}

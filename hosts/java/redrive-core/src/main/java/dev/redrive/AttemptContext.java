package dev.redrive;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;

/** One attempt while it runs: what its transport may want to know, and how it hears that its answer is not wanted any more. */
public final class AttemptContext {
  private static final Set<Integer> REDIRECTS = Set.of(301, 302, 303, 307, 308);
  private static final int MOST_HOPS = 20;

  final int number;
  final boolean isOwn;
  final double startedAt;
  final double limitMs;
  private final boolean onCallersThread;
  private URI uri;
  private boolean isUriAsked;
  private int hops;
  private boolean isRefused;
  private Runnable abort;
  private boolean isAborted;
  private boolean isOver;
  /** Takes back the timer of the limit. */
  Runnable disarm = () -> {};

  AttemptContext(URI uri, int number, boolean isOwn, boolean onCallersThread, double startedAt, double limitMs) {
    this.uri = uri;
    this.number = number;
    this.isOwn = isOwn;
    this.onCallersThread = onCallersThread;
    this.startedAt = startedAt;
    this.limitMs = limitMs;
  }

  /** The number of the attempt, from 1 on. */
  public int number() {
    return number;
  }

  /**
   * Where to send the request: to its own address, or to where a redirect of a deferred call leads within its origin. A redirect ends the deferred call of a
   * transport that does not ask.
   */
  public URI uri() {
    isUriAsked = true;
    return uri;
  }

  /** How long the queue waits for the answer; null: without a limit. */
  public Duration limit() {
    return Double.isInfinite(limitMs) ? null : Duration.ofMillis((long) limitMs);
  }

  /** Whether this is the caller's own thread, which may be blocked. Any other may not. */
  public boolean onCallersThread() {
    return onCallersThread;
  }

  /** Whether the answer is not wanted any more: the caller has left, or the time limit is over. */
  public synchronized boolean isAborted() {
    return isAborted;
  }

  /** Says how the attempt is ended before its answer is there: at once where it is aborted already, else once, on any thread. null: not any more. */
  public synchronized void onAbort(Runnable action) {
    abort = action;
    if (isAborted && action != null) action.run();
  }

  synchronized void abort() {
    if (isAborted) return;
    isAborted = true;
    if (abort != null) abort.run();
  }

  /** The first who asks may say how the attempt has ended. */
  synchronized boolean end() {
    boolean isFirst = !isOver;
    isOver = true;
    return isFirst;
  }

  synchronized boolean isOver() {
    return isOver;
  }

  HttpTimeoutException tooLong(RetryRequest request, double now) {
    return new HttpTimeoutException(request.what() + ": attempt " + number + " had no answer within " + (long) (now - startedAt)
        + " ms, the policy's attemptTimeout or what was left of the queue's wait");
  }

  /**
   * Whether an answer that no caller takes leads the request on. The request is not done then: it is sent again, to where the answer leads, or given up
   * where that is another origin, which would get its key and its credentials. A redirect within the origin that makes a GET of it has answered it
   * (docs/retries.md), and that GET has no reader.
   */
  boolean isLedOn(RetryRequest request, Answer<?> answer) {
    if (!REDIRECTS.contains(answer.status())) return false;
    URI next = resolved(answer.header("location"));
    boolean isHome = next != null && request.origin().equals(RetryRequest.originOf(next));
    boolean isAnswer = answer.status() == 303 ? !Set.of("GET", "HEAD").contains(request.method()) : answer.status() < 303 && request.method().equals("POST");
    if (isHome && isAnswer) return false;
    isRefused = !isHome || !isUriAsked || !request.repeatable() || ++hops > MOST_HOPS;
    if (!isRefused) uri = next;
    return !isRefused;
  }

  private URI resolved(String location) {
    try {
      return location == null ? null : uri.resolve(location);
    } catch (IllegalArgumentException unreadable) {
      return null;
    }
  }

  /** How an attempt has ended that has an answer. */
  int outcome() {
    return isRefused ? Codes.OUTCOME_REDIRECT_REFUSED : Codes.OUTCOME_RESPONSE;
  }

  /** How an attempt has ended that has no answer. */
  static int outcomeOf(Throwable error) {
    // no thread was free: as with missing credentials nothing was sent, and it comes again after the wait of the curve
    if (error instanceof RejectedExecutionException) return Codes.OUTCOME_CREDENTIALS_FAILED;
    boolean isInterrupted = error instanceof InterruptedException || Thread.currentThread().isInterrupted();
    if (isInterrupted || error instanceof CancellationException) return Codes.OUTCOME_ABORTED;
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause.getClass().getSimpleName().contains("Timeout")) return Codes.OUTCOME_TIMED_OUT;
      if (cause instanceof IOException) return Codes.OUTCOME_NETWORK_ERROR;
    }
    return Codes.OUTCOME_OWN_ERROR;
  }
}

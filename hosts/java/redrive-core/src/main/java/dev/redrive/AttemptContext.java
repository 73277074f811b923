package dev.redrive;

import java.io.IOException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;

/** One attempt while it runs: what its transport may want to know, and how it hears that its answer is not wanted any more. */
public final class AttemptContext {
  final int number;
  final boolean isOwn;
  final double startedAt;
  final double limitMs;
  private final boolean onCallersThread;
  private Runnable abort;
  private boolean isAborted;
  private boolean isOver;
  /** Takes back the timer of the limit. */
  Runnable disarm = () -> {};

  AttemptContext(int number, boolean isOwn, boolean onCallersThread, double startedAt, double limitMs) {
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

  HttpTimeoutException tooLong(RetryRequest request) {
    return new HttpTimeoutException(request.what() + ": attempt " + number + " had no answer within " + (long) limitMs
        + " ms, the policy's attemptTimeout or what was left of the queue's wait");
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

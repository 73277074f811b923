package dev.redrive;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * Sends a request once. The queue calls it for each attempt, and never twice at a time for one call.
 *
 * @param <A> what the caller gets: a transport's own response
 */
@FunctionalInterface
public interface Attempt<A> {
  /**
   * Sends the request, to {@link AttemptContext#uri()}. An exception, thrown or in the stage, says that there is no answer: an
   * {@link java.io.IOException} (or one with it as a cause) that the connection failed, or took too long where its name says Timeout; any other that
   * another attempt would not help. It does not block, except on the caller's own thread ({@link AttemptContext#onCallersThread()}).
   */
  CompletionStage<Answer<A>> send(AttemptContext context);

  /**
   * An attempt by a function that blocks. The caller's own first one runs on the caller's thread, so that its context is there; every other on
   * {@code executor}. An attempt whose answer is not wanted any more is interrupted. An executor that refuses it puts it off, which counts as no
   * attempt.
   */
  static <A> Attempt<A> blocking(Executor executor, Callable<Answer<A>> send) {
    return new BlockingAttempt<>(executor, send);
  }
}

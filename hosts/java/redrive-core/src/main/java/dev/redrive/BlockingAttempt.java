package dev.redrive;

import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** An attempt by a function that blocks, and its interruption. */
record BlockingAttempt<A>(Executor executor, Callable<Answer<A>> function) implements Attempt<A> {
  @Override
  public CompletionStage<Answer<A>> send(AttemptContext context) {
    CompletableFuture<Answer<A>> ended = new CompletableFuture<>();
    if (context.onCallersThread()) run(context, ended);
    else executor.execute(() -> run(context, ended));
    return ended;
  }

  private void run(AttemptContext context, CompletableFuture<Answer<A>> ended) {
    if (context.isAborted()) {
      ended.completeExceptionally(new CancellationException("the attempt was given up before it was sent"));
      return;
    }
    Thread thread = Thread.currentThread();
    boolean[] isInterrupted = {false};
    context.onAbort(() -> {
      isInterrupted[0] = true;
      thread.interrupt();
    });
    Answer<A> answer = null;
    Throwable error = null;
    try {
      answer = function.call();
    } catch (Throwable thrown) {
      error = thrown;
    } finally {
      // what follows may run here, and is not to be interrupted
      context.onAbort(null);
      if (isInterrupted[0]) Thread.interrupted();
    }
    if (error == null) ended.complete(answer);
    else ended.completeExceptionally(error);
  }
}

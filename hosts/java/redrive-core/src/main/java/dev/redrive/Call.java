package dev.redrive;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * One call, from its caller to its end: the future that its caller has, and what the queue notes about it. All that changes is guarded by the lock of
 * the queue's core.
 */
final class Call<A> extends CompletableFuture<A> {
  final RetryRequest request;
  final Attempt<A> attempt;
  final boolean isDeferrable;
  final double createdAt;
  final double waitUntil;
  private final Executor delivery;
  private final Consumer<Call<A>> onCancel;

  double lane;
  /** Its handle in the core, as a task or at the door; NONE: it has none. */
  long slot = Codes.NONE;
  boolean isAtDoor;
  /** It is to be tried again, or was. */
  boolean isTask;
  /** Its caller has its answer already: it goes on by itself. */
  boolean isDeferred;
  boolean isOver;
  String taskId;
  int attempts;
  /** The attempt that runs; null: none does. */
  AttemptContext running;
  /** The last answer, which its caller gets should it be given up. Either this or the error is null. */
  Answer<A> last;
  Throwable error;

  Call(RetryRequest request, Attempt<A> attempt, boolean isDeferrable, double createdAt, double waitMs, Executor delivery,
      Consumer<Call<A>> onCancel) {
    this.request = request;
    this.attempt = attempt;
    this.isDeferrable = isDeferrable;
    this.createdAt = createdAt;
    this.waitUntil = createdAt + waitMs;
    this.delivery = delivery;
    this.onCancel = onCancel;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean isCancelled = super.cancel(mayInterruptIfRunning);
    if (isCancelled) onCancel.accept(this);
    return isCancelled;
  }

  /** Whether its caller has cancelled it, or ended it otherwise, as {@code orTimeout} does. */
  boolean isLeft() {
    return isDone() && !isDeferred;
  }

  /** Until when it may wait for an attempt to start. */
  double patience() {
    return isDeferred ? Double.POSITIVE_INFINITY : waitUntil;
  }

  int status() {
    return last == null ? 0 : last.status();
  }

  void defer() {
    isDeferred = true;
    taskId = UUID.randomUUID().toString();
  }

  /** Says to the caller that the call goes on alone. */
  void deliverDeferred(Throwable cause) {
    delivery.execute(() -> completeExceptionally(new DeferredException(request, taskId, cause)));
  }

  /** Gives the caller what there is. */
  void deliver() {
    delivery.execute(() -> {
      boolean isTaken = !isDeferred && (last != null ? complete(last.value()) : completeExceptionally(error));
      if (!isTaken && last != null) last.discard().run();
    });
  }
}

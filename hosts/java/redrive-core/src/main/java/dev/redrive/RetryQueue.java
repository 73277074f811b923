package dev.redrive;

import static dev.redrive.Codes.*;

import dev.redrive.Core.Calls;
import dev.redrive.CoreQueue.End;
import dev.redrive.QueueListener.AttemptEnd;
import dev.redrive.QueueListener.CallEnd;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Makes calls again that have failed in a way that may pass: with backoff and jitter, never earlier than their server asked, under one idempotency
 * key, with a circuit breaker and a retry budget for each origin. Safe for use by many threads; one queue serves an application. It sends nothing
 * itself: {@link RetryHttpClient} has attempts by java.net.http, the Spring starter those by Spring's clients.
 *
 * <p>The core decides. This class reports what happened, and does what the core answers; what reaches out to a transport, a caller or a listener
 * is done behind that, outside of the core's thread.
 */
public final class RetryQueue implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.redrive");

  /** So many origins are remembered as having answered. */
  private static final int MOST_ANSWERED = 1_000;

  private final String name;
  private final int capacity;
  private final double waitMs;
  private final List<QueueListener> listeners;
  private final CoreQueue queue;
  private final Core core;
  private final Ticker ticker;
  /** By their handles in the core: those that wait for another attempt, are in one, or stand at the door of their lane. */
  private final Map<Long, Call<?>> calls = new HashMap<>();
  /** When each origin last answered, whether or not the core heard of it. */
  private final Map<String, Double> answeredAt = new ConcurrentHashMap<>();
  private double wakeAt = Double.POSITIVE_INFINITY;
  private Runnable disarm = () -> {};
  private volatile boolean isClosed;
  private Throwable closedBy;

  RetryQueue(QueueBuilder options) {
    name = options.name;
    capacity = options.capacity;
    waitMs = options.wait.toMillis();
    listeners = List.copyOf(options.listeners);
    queue = new CoreQueue(options);
    core = queue.core;
    // last: a queue that is refused has no thread
    ticker = options.ticker != null ? options.ticker : new Ticker.OfSystem(name);
  }

  /** The options of a queue, each with its default. */
  public static QueueBuilder builder() {
    return new QueueBuilder();
  }

  /**
   * Makes a call, and tries it again for as long as its caller waits. The future ends with the answer that counts: a success, a failure that no retry
   * would help, or the last one where the call is given up; without an answer, with the transport's own exception. CircuitOpenException,
   * QueueFullException, QueueClosedException: nothing was sent. To cancel the future, or to complete it, is to leave: nothing is sent after that.
   */
  public <A> CompletableFuture<A> call(RetryRequest request, Attempt<A> attempt) {
    return enter(request, attempt, false);
  }

  /**
   * Makes a call whose caller waits for the first attempt only. Where that fails in a way that may pass, or the circuit of its origin is not closed, the
   * future ends with a {@link DeferredException}, and the call goes on in memory, under the deferred policy, until it succeeds or is given up;
   * {@link QueueListener#callEnded} says how it ends. A call that cannot be kept ends as one of {@link #call} does.
   */
  public <A> CompletableFuture<A> callOrDefer(RetryRequest request, Attempt<A> attempt) {
    return enter(request, attempt, true);
  }

  /** The queue in numbers. */
  public QueueStats stats() {
    return Core.inside(() -> queue.stats(ticker.now()));
  }

  /** Begins nothing more. Calls that wait end with their last answer, or a QueueClosedException; their attempts are aborted. First attempts go on. */
  @Override
  public void close() {
    close(null);
  }

  private void close(Throwable cause) {
    List<Runnable> after = new ArrayList<>();
    int lost = 0;
    synchronized (core) {
      if (isClosed) return;
      isClosed = true;
      closedBy = cause;
      disarm.run();
      for (Call<?> call : List.copyOf(calls.values())) {
        AttemptContext running = call.running;
        if (call.isDeferred) lost++;
        if (running != null && running.end()) after.add(running::abort);
        if (call.last == null && call.error == null) call.error = new QueueClosedException(call.request, cause);
        finish(call, "cancelled", "closed", after);
      }
    }
    if (lost > 0) LOG.log(System.Logger.Level.ERROR, "queue {0} was closed, and {1} deferred calls with it, which are lost", name, lost);
    after.forEach(Runnable::run);
    ticker.close();
  }

  /**
   * What is done with the core, and then what it has brought about. false: the core failed. It would decide nothing any more, so the queue is closed.
   */
  private boolean withCore(Consumer<List<Runnable>> work) {
    List<Runnable> after = new ArrayList<>(4);
    boolean isDone = true;
    try {
      Core.inside(() -> {
        synchronized (core) {
          work.accept(after);
        }
        return null;
      });
    } catch (RuntimeException failed) {
      isDone = false;
      LOG.log(System.Logger.Level.ERROR, "the core failed, and queue '" + name + "' is closed", failed);
      close(failed);
    }
    after.forEach(Runnable::run);
    return isDone;
  }

  private <A> CompletableFuture<A> enter(RetryRequest request, Attempt<A> attempt, boolean isDeferrable) {
    double now = ticker.now();
    Call<A> call = new Call<>(request, attempt, isDeferrable, now, waitMs + RetryPolicy.bodyMs(request.bodyBytes()), ticker::runFreely,
        this::leave);
    // of an origin that does well the core knows nothing, so it has nothing against the call
    if (!isClosed && !queue.knows(request.origin())) {
      begin(call, true, true);
      return call;
    }
    boolean isDone = withCore(after -> {
      if (isClosed) {
        turnAway(call, new QueueClosedException(request, closedBy), after);
        return;
      }
      call.lane = queue.lane(request.origin());
      if (isDeferrable && !queue.isCircuitClosed(call.lane, now) && isDeferredUnsent(call, now, after)) return;
      int entry = queue.entry(call, now);
      if (entry == ENTRY_SENT) after.add(() -> begin(call, true, true));
      else if (entry == ENTRY_WAITS) stand(call, now, after);
      else turnAway(call, new CircuitOpenException(request, queue.openUntil(call.lane, now)), after);
    });
    if (!isDone) call.completeExceptionally(new QueueClosedException(request, closedBy));
    return call;
  }

  private void turnAway(Call<?> call, RedriveException error, List<Runnable> after) {
    call.error = error;
    finish(call, null, null, after);
  }

  private boolean isDeferredUnsent(Call<?> call, double now, List<Runnable> after) {
    if (!isTaken(call, now, Double.NaN)) return false;
    after.add(() -> call.deliverDeferred(null));
    run(new Calls(), now, after);
    return true;
  }

  private void stand(Call<?> call, double now, List<Runnable> after) {
    call.slot = queue.stand(call, now);
    if (call.slot == NONE) {
      turnAway(call, new QueueFullException(call.request, capacity), after);
      return;
    }
    call.isAtDoor = true;
    calls.put(call.slot, call);
    run(new Calls(), now, after);
  }

  /** Makes an attempt. `isOwn`: the caller's own first one, which is no task's; `isHere`: on the caller's thread. */
  private <A> void begin(Call<A> call, boolean isOwn, boolean isHere) {
    double now = ticker.now();
    AttemptContext context;
    boolean isOpen;
    synchronized (core) {
      if (call.isOver) return;
      double limitMs = Math.min(queue.rulesOf(call).attemptMs(call.request.bodyBytes()), Math.max(1, call.patience() - now));
      context = new AttemptContext(call.request.uri(), ++call.attempts, isOwn, isHere, now, limitMs);
      call.running = context;
      // a queue that has closed since the core let the call in takes no timer any more
      isOpen = !isClosed;
      if (isOpen && context.limit() != null) context.disarm = ticker.at(now + limitMs, () -> limitOver(call, context));
    }
    if (!isOpen) stop(call, context, OUTCOME_ABORTED, new QueueClosedException(call.request, closedBy));
    else if (call.isLeft()) leave(call);
    if (context.isOver()) return;
    send(call, context).whenComplete((answer, thrown) -> {
      if (!context.end()) {
        if (answer != null) answer.discard().run();
        return;
      }
      context.disarm.run();
      Throwable error = thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
      ended(call, context, answer != null ? context.outcome() : AttemptContext.outcomeOf(error), answer, error);
    });
  }

  /** Sends a request, and where no caller takes the answer, to where that leads, too. */
  private <A> CompletionStage<Answer<A>> send(Call<A> call, AttemptContext context) {
    CompletionStage<Answer<A>> sending;
    try {
      sending = call.attempt.send(context);
    } catch (Throwable thrown) {
      return CompletableFuture.failedFuture(thrown);
    }
    if (!call.isDeferred) return sending;
    return sending.thenCompose(answer -> {
      boolean isListed = answer == null || queue.rulesOf(call).fails(answer.status());
      if (isListed || context.isAborted() || !context.isLedOn(call.request, answer)) return CompletableFuture.completedFuture(answer);
      answer.discard().run();
      return send(call, context);
    });
  }

  /** The limit of an attempt is over: it ends, unless the core has it go on. */
  private void limitOver(Call<?> call, AttemptContext context) {
    if (context.isOver()) return;
    double now = ticker.now();
    boolean[] goesOn = {false};
    RetryPolicy rules = queue.rulesOf(call);
    boolean isDefault = rules.hasDefaultLimit() && context.limitMs == rules.attemptMs(call.request.bodyBytes());
    if (isDefault && !(context.isOwn && call.isDeferrable)) {
      withCore(after -> {
        if (isClosed) return;
        call.lane = queue.lane(call.request.origin());
        double answered = answeredAt.getOrDefault(call.request.origin(), 0.0);
        double until = context.isOwn ? queue.lasts(call, now, context.startedAt, answered) : queue.extend(call, now, context);
        goesOn[0] = until > now;
        if (goesOn[0]) context.disarm = ticker.at(until, () -> limitOver(call, context));
      });
    }
    if (!goesOn[0]) stop(call, context, OUTCOME_TIMED_OUT, context.tooLong(call.request, now));
  }

  private void stop(Call<?> call, AttemptContext context, int outcome, Throwable error) {
    if (!context.end()) return;
    context.disarm.run();
    context.abort();
    ended(call, context, outcome, null, error);
  }

  /** Reports the end of an attempt, and does what follows. */
  private <A> void ended(Call<A> call, AttemptContext context, int outcome, Answer<A> answer, Throwable error) {
    double now = ticker.now();
    if (answer != null) {
      if (answeredAt.size() >= MOST_ANSWERED) answeredAt.clear();
      answeredAt.put(call.request.origin(), now);
    }
    if (context.isOwn && isNoNews(call, answer)) {
      report(call, context, new End(outcome, answer.status(), context.startedAt, now, null, false));
      call.last = answer;
      call.deliver();
      return;
    }
    boolean isDone = withCore(after -> {
      call.running = null;
      keep(call, outcome, answer, error, after);
      call.lane = queue.lane(call.request.origin());
      int status = answer == null ? 0 : answer.status();
      double[] said = queue.said(answer, queue.rulesOf(call), now);
      End end = new End(outcome, status, context.startedAt, now, said, status >= 400 && answer.isReplayed());
      after.add(() -> report(call, context, end));
      boolean isTask = !context.isOwn;
      if (context.isOwn && !isClosed && !call.isLeft() && queue.isTransient(call, end)) isTask = isTaken(call, now, context.startedAt);
      if (isTask) {
        settle(call, context, end, after);
      } else {
        finish(call, null, null, after);
        run(queue.heard(call, end), now, after);
      }
    });
    if (!isDone) call.deliver();
  }

  /** Whether an answer says nothing that the core would remember: it is good, asks for no wait, and comes from an origin of which nothing is known. */
  private boolean isNoNews(Call<?> call, Answer<?> answer) {
    boolean isGood = answer != null && !queue.rulesOf(call).fails(answer.status());
    return isGood && !queue.knows(call.request.origin()) && answer.waitLines(false).isEmpty();
  }

  /** Notes what the caller gets, should the call end now. */
  private static <A> void keep(Call<A> call, int outcome, Answer<A> answer, Throwable error, List<Runnable> after) {
    boolean isUnsent = outcome == OUTCOME_CREDENTIALS_FAILED;
    // one that never left leaves the last answer as it was
    if (isUnsent && (call.last != null || call.error != null)) return;
    if (call.last != null) after.add(call.last.discard());
    call.last = answer;
    call.error = error;
  }

  /** Whether the core takes a call. `startedAt`: when its first attempt began that has just ended; NaN: there was none. */
  private boolean isTaken(Call<?> call, double now, double startedAt) {
    if (call.isDeferrable) call.defer();
    call.slot = queue.admit(call, now, startedAt);
    call.isTask = call.slot != NONE;
    if (call.isTask) calls.put(call.slot, call);
    else call.isDeferred = false;
    return call.isTask;
  }

  private void settle(Call<?> call, AttemptContext context, End end, List<Runnable> after) {
    double[] next = run(queue.settle(call, end), end.endedAt(), after);
    String kind = NEXT_KINDS.get((int) next[0]);
    double reason = next[1 + NEXT_REASON];
    switch (kind) {
      case "retry", "released", "parked" -> {
        if (call.isDeferred) goOn(call, context.isOwn, after);
      }
      case "succeeded", "cancelled" -> finish(call, kind, null, after);
      default -> {
        // given up at once: its caller is there still
        if (context.isOwn) call.isDeferred = false;
        finish(call, "exhausted", reason == NONE ? null : REASONS.get((int) reason), after);
      }
    }
  }

  /** A deferred call goes on alone: no caller takes its answers. `isFirst`: from now on. */
  private static void goOn(Call<?> call, boolean isFirst, List<Runnable> after) {
    Throwable cause = call.error;
    if (isFirst) after.add(() -> call.deliverDeferred(cause));
    if (call.last != null) after.add(call.last.discard());
    call.last = null;
  }

  /** Its caller has cancelled it. */
  private void leave(Call<?> call) {
    AttemptContext[] running = {null};
    withCore(after -> {
      if (call.isOver || call.isDeferred) return;
      running[0] = call.running;
      if (call.slot == NONE || queue.cancel(call) == CANCEL_REQUESTED) return;
      finish(call, "cancelled", null, after);
      run(new Calls(), ticker.now(), after);
    });
    if (running[0] != null) stop(call, running[0], OUTCOME_ABORTED, new CancellationException());
  }

  /** Runs the calls and gives the answer of the first, polls behind them, and arms the timer. */
  private double[] run(Calls given, double now, List<Runnable> after) {
    double[][] answers = core.run(given.add(OP_POLL, now).add(OP_WAKE_AT));
    double[] first = answers[0];
    for (;;) {
      double[] polled = answers[answers.length - 2];
      for (int at = 1; at < polled.length; at += 2) act(polled[at], (long) polled[at + 1], now, after);
      if (polled[0] < BATCH) break;
      answers = core.run(new Calls().add(OP_POLL, now).add(OP_WAKE_AT));
    }
    double wake = answers[answers.length - 1][0];
    if (wake < wakeAt && !isClosed) {
      disarm.run();
      wakeAt = wake;
      disarm = ticker.at(wake, this::tick);
    }
    return first;
  }

  private void tick() {
    withCore(after -> {
      wakeAt = Double.POSITIVE_INFINITY;
      if (!isClosed) run(new Calls(), ticker.now(), after);
    });
  }

  private void act(double handle, long action, double now, List<Runnable> after) {
    if (action >= STORM) {
      LOG.log(System.Logger.Level.WARNING, "retry storm: at {0} {1} calls have failed at first for each success", queue.origin(handle), action - STORM);
      return;
    }
    if (action > 0 && action < LET_IN) {
      int change = (int) action - 1;
      String origin = queue.origin(handle);
      String from = CIRCUITS.get(change / 3);
      String to = CIRCUITS.get(change % 3);
      after.add(() -> {
        LOG.log(to.equals("OPEN") ? System.Logger.Level.WARNING : System.Logger.Level.INFO, "the circuit of {0} was {1} and is {2}", origin, from, to);
        announce(listener -> listener.circuitChanged(origin, from, to));
      });
      return;
    }
    Call<?> call = calls.get((long) handle);
    if (call == null) return;
    if (action == LET_IN) {
      calls.remove(call.slot);
      call.slot = NONE;
      call.isAtDoor = false;
      after.add(() -> begin(call, true, false));
    } else if (action >= ENDED) {
      if (call.isAtDoor) call.error = new CircuitOpenException(call.request, queue.openUntil(call.lane, now));
      finish(call, "exhausted", REASONS.get((int) action - ENDED), after);
    } else {
      after.add(() -> begin(call, false, false));
    }
  }

  private void finish(Call<?> call, String outcome, String reason, List<Runnable> after) {
    if (call.isOver) return;
    call.isOver = true;
    calls.remove(call.slot);
    if (call.isTask) {
      String taskId = call.isDeferred ? call.taskId : null;
      CallEnd end = new CallEnd(call.request, taskId, outcome, reason, call.status(), call.error, millis(ticker.now() - call.createdAt));
      boolean isLost = call.isDeferred && outcome.equals("exhausted");
      after.add(() -> {
        if (isLost) LOG.log(System.Logger.Level.ERROR, "deferred call {0} to {1} was given up: {2}", taskId, call.request.origin(), reason);
        announce(listener -> listener.callEnded(end));
      });
    }
    after.add(call::deliver);
  }

  private void report(Call<?> call, AttemptContext context, End end) {
    if (listeners.isEmpty()) return;
    String word = switch (end.outcome()) {
      case OUTCOME_RESPONSE -> end.status() < 400 ? "success" : end.status() == 429 ? "rate_limited" : end.status() < 500 ? "client_error" : "server_error";
      case OUTCOME_NETWORK_ERROR -> "network_error";
      case OUTCOME_TIMED_OUT -> "timeout";
      case OUTCOME_ABORTED -> "cancelled";
      default -> "refused";
    };
    AttemptEnd attempt = new AttemptEnd(call.request.origin(), context.number(), word, end.status(), millis(end.tookMs()));
    announce(listener -> listener.attemptEnded(attempt));
  }

  private void announce(Consumer<QueueListener> event) {
    for (QueueListener each : listeners) {
      try {
        event.accept(each);
      } catch (RuntimeException thrown) {
        LOG.log(System.Logger.Level.WARNING, each.getClass().getName() + " threw; a listener must not", thrown);
      }
    }
  }

  private static Duration millis(double ms) {
    return Duration.ofMillis((long) ms);
  }
}

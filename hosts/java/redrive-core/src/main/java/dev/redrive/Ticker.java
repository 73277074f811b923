package dev.redrive;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The clock of a queue, which tests replace. */
interface Ticker {
  /** Epoch ms, whole, on a clock that never goes back. */
  double now();

  /** Has {@code work} run at an instant, at once if that is past; gives what takes it back. */
  Runnable at(double instant, Runnable work);

  /** Runs what may block for long: here, unless this is the thread of the timers. */
  default void runFreely(Runnable work) {
    work.run();
  }

  /** Starts no more timers. Those that run go on. */
  void close();

  /** A thread that serves any caller, so it inherits the thread locals of none. */
  static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(null, work, name, 0, false);
    // that of whichever caller is first may be another application's
    thread.setContextClassLoader(Ticker.class.getClassLoader());
    thread.setDaemon(true);
    return thread;
  }

  /** The system's: one daemon thread for a queue. */
  final class OfSystem implements Ticker {
    private static final double NANOS = 1e6;
    /** As many threads as continuations block. */
    private static final ExecutorService OTHERS = Executors.newCachedThreadPool(work -> daemon(work, "redrive-continuations"));

    private final double startedAt = System.currentTimeMillis();
    private final long startedNanos = System.nanoTime();
    private final ScheduledThreadPoolExecutor executor;
    private volatile Thread thread;

    OfSystem(String name) {
      executor = new ScheduledThreadPoolExecutor(1, work -> {
        thread = daemon(work, "redrive-" + name);
        return thread;
      });
      executor.setRemoveOnCancelPolicy(true);
    }

    private double exactNow() {
      return startedAt + (System.nanoTime() - startedNanos) / NANOS;
    }

    @Override
    public double now() {
      return Math.floor(exactNow());
    }

    @Override
    public Runnable at(double instant, Runnable work) {
      long nanos = (long) Math.ceil(Math.max(0, instant - exactNow()) * NANOS);
      ScheduledFuture<?> timer = executor.schedule(work, nanos, TimeUnit.NANOSECONDS);
      return () -> timer.cancel(false);
    }

    @Override
    public void runFreely(Runnable work) {
      if (Thread.currentThread() == thread) OTHERS.execute(work);
      else work.run();
    }

    @Override
    public void close() {
      executor.shutdown();
    }
  }
}

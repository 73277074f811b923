package dev.redrive;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The clock of a queue, which tests replace. */
interface Ticker {
  /** Epoch ms, whole, on a clock that never goes back. */
  double now();

  /** Has {@code work} run at an instant, at once if that is past; gives what takes it back. */
  Runnable at(double instant, Runnable work);

  /** Starts no more timers. Those that run go on. */
  void close();

  /** The system's: one daemon thread for a queue. */
  final class OfSystem implements Ticker {
    private static final double NANOS = 1e6;

    private final double startedAt = System.currentTimeMillis();
    private final long startedNanos = System.nanoTime();
    private final ScheduledThreadPoolExecutor executor;

    OfSystem(String name) {
      executor = new ScheduledThreadPoolExecutor(1, work -> {
        Thread thread = new Thread(work, "redrive-" + name);
        thread.setDaemon(true);
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
    public void close() {
      executor.shutdown();
    }
  }
}

package dev.redrive;

import java.util.Comparator;
import java.util.PriorityQueue;

/** A clock that stands still until a test moves it. */
final class FakeTicker implements Ticker {
  private record Timer(double at, long order, Runnable work) {}

  private final PriorityQueue<Timer> timers = new PriorityQueue<>(Comparator.comparingDouble(Timer::at).thenComparingLong(Timer::order));
  private double now = 1_800_000_000_000.0;
  private long order;

  @Override
  public synchronized double now() {
    return now;
  }

  @Override
  public synchronized Runnable at(double instant, Runnable work) {
    Timer timer = new Timer(instant, order++, work);
    timers.add(timer);
    return () -> remove(timer);
  }

  private synchronized void remove(Timer timer) {
    timers.remove(timer);
  }

  @Override
  public void close() {}

  synchronized int timers() {
    return timers.size();
  }

  private synchronized Timer next(double until) {
    boolean isDue = !timers.isEmpty() && timers.peek().at() <= until;
    now = isDue ? Math.max(now, timers.peek().at()) : until;
    return isDue ? timers.poll() : null;
  }

  /** Runs the timers of this time, each at its instant. */
  void advance(double ms) {
    double until = now() + ms;
    for (Timer timer = next(until); timer != null; timer = next(until)) timer.work().run();
  }
}

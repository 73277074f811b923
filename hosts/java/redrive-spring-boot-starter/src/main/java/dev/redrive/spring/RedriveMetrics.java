package dev.redrive.spring;

import dev.redrive.QueueListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Meters, by the names that docs/observability.md has for Prometheus: {@code retry_attempts_total} counts attempts that have ended, callers' first ones
 * included; {@code retry_task_age_seconds} is the time from a call that was tried again to its end. Both have the tag {@code outcome}.
 */
public final class RedriveMetrics implements QueueListener, MeterBinder {
  private final List<MeterRegistry> registries = new CopyOnWriteArrayList<>();

  @Override
  public void bindTo(MeterRegistry registry) {
    registries.add(registry);
  }

  @Override
  public void attemptEnded(AttemptEnd end) {
    // Prometheus appends _total
    for (MeterRegistry each : registries) each.counter("retry.attempts", "outcome", end.outcome()).increment();
  }

  @Override
  public void callEnded(CallEnd end) {
    for (MeterRegistry each : registries) {
      // and _seconds
      Timer.builder("retry.task.age").tag("outcome", end.outcome()).publishPercentileHistogram().register(each).record(end.age());
    }
  }
}

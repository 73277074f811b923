package dev.redrive;

import java.time.Instant;
import java.util.List;

/**
 * @param depth calls that wait for another attempt, or are in one
 * @param inFlight attempts of the queue that run; callers' own first ones do not count
 * @param nextAttemptAt when the next one may start; null: nothing waits for a time
 * @param unusableRetryAfter answers whose Retry-After could not be read
 * @param origins each with something that waits, or something remembered
 */
public record QueueStats(int depth, int inFlight, Instant nextAttemptAt, long unusableRetryAfter, List<Origin> origins) {
  /**
   * @param origin scheme, host and port
   * @param depth as for the queue
   * @param inFlight as for the queue
   * @param heldUntil when the wait ends that its server has asked all for; null: there is none
   * @param shutUntil until when its circuit lets nothing start; null: it does, or no time is known
   * @param circuit CLOSED, OPEN or HALF_OPEN
   * @param retryTokens what is left of its retry budget
   */
  public record Origin(String origin, int depth, int inFlight, Instant heldUntil, Instant shutUntil, String circuit, double retryTokens) {}
}

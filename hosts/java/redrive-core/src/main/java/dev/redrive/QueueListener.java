package dev.redrive;

import java.time.Duration;

/** Hears what happens in a queue. It is called on the thread on which it happens, should be quick, and must not throw. */
public interface QueueListener {
  /**
   * @param origin scheme, host and port
   * @param number of the attempt, from 1 on
   * @param outcome success, rate_limited, client_error, server_error, network_error, timeout, refused or cancelled
   * @param status 0: there was no answer
   * @param took up to the headers of the answer, or to the failure
   */
  record AttemptEnd(String origin, int number, String outcome, int status, Duration took) {}

  /**
   * @param taskId of a deferred call; null: its caller has waited for it
   * @param outcome succeeded, exhausted or cancelled
   * @param reason why it was given up, as docs/options.md has it; null: it was not
   * @param status of its last answer, 0: it had none
   * @param error of its last attempt; null: it had an answer
   * @param age from the call to its end
   */
  record CallEnd(RetryRequest request, String taskId, String outcome, String reason, int status, Throwable error, Duration age) {}

  /** An attempt has ended. */
  default void attemptEnded(AttemptEnd end) {}

  /** A call that was tried again, or deferred, has ended. */
  default void callEnded(CallEnd end) {}

  /** A circuit has changed: from and to are CLOSED, OPEN or HALF_OPEN. */
  default void circuitChanged(String origin, String from, String to) {}
}

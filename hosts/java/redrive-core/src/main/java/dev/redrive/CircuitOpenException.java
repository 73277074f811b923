package dev.redrive;

import java.time.Instant;

/** The call was not sent: the circuit of its origin stays open for longer than its caller waits. */
public final class CircuitOpenException extends RedriveException {
  private final String origin;
  private final Instant until;

  CircuitOpenException(RetryRequest request, Instant until) {
    super(
        request.what() + " was not sent: its circuit is open" + (until == null ? ", and another call is trying it out now" : " until " + until)
            + "; give the queue a longer wait, or defer the call",
        null);
    this.origin = request.origin();
    this.until = until;
  }

  /** Scheme, host and port of the server. */
  public String origin() {
    return origin;
  }

  /** When the circuit lets an attempt through; null while an attempt is trying the server out, since of that no end is known. */
  public Instant until() {
    return until;
  }
}

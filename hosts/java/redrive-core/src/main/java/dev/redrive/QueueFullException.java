package dev.redrive;

/** The call was not sent: its circuit is open, and the queue has no room for one more that waits. */
public final class QueueFullException extends RedriveException {
  QueueFullException(RetryRequest request, int capacity) {
    super(request.what() + " was not sent: the queue holds " + capacity + " calls, its capacity; raise capacity, or call again later", null);
  }
}

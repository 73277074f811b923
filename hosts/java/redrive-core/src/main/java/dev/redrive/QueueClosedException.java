package dev.redrive;

/** The queue was closed before the call, or while it waited without an answer of its own. */
public final class QueueClosedException extends RedriveException {
  QueueClosedException(RetryRequest request, Throwable cause) {
    super(request.what() + " was not sent: the queue is closed; make a new RetryQueue", cause);
  }
}

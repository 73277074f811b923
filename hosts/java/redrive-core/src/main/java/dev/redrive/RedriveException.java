package dev.redrive;

/** What the queue itself has to say of a call. Every other failure of a call is the transport's own exception. */
public class RedriveException extends RuntimeException {
  RedriveException(String message, Throwable cause) {
    super(message, cause);
  }
}

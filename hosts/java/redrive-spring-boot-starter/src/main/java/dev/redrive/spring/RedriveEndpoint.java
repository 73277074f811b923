package dev.redrive.spring;

import dev.redrive.QueueStats;
import dev.redrive.RetryQueue;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/redrive}: the queue in numbers. */
@Endpoint(id = "redrive")
public record RedriveEndpoint(RetryQueue queue) {
  /** What waits and runs, and how the server of each origin does. */
  @ReadOperation
  public QueueStats stats() {
    return queue.stats();
  }
}

package dev.redrive.spring;

import dev.redrive.DeferredException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/**
 * Answers a request whose own call was deferred with a 202: its id, its trace, and that it is kept in memory. It comes before the application's own advices,
 * one of which may answer any exception with a 500; to replace the 202 give an advice the same order.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
@RestControllerAdvice
public final class DeferredAdvice {
  /** The 202. */
  @ExceptionHandler
  public ResponseEntity<String> accepted(DeferredException deferred) {
    // both are hex digits and hyphens
    String body = "{\"status\":\"queued\",\"taskId\":\"%s\",\"traceId\":\"%s\",\"durability\":\"memory\"}";
    return ResponseEntity.accepted()
        .contentType(MediaType.APPLICATION_JSON)
        .header("redrive-task-id", deferred.taskId())
        .header("redrive-durability", "memory")
        .header("cache-control", "no-store")
        .body(String.format(body, deferred.taskId(), deferred.traceId()));
  }
}

package dev.redrive;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;

/**
 * java.net.http with retries: {@link #send} and {@link #sendAsync} are those of {@link HttpClient}. A POST, PUT, PATCH or DELETE without an
 * {@code Idempotency-Key} gets a random one. A body whose length is not known beforehand ({@code ofInputStream}, {@code fromPublisher}) may not be there
 * a second time, so its request is sent once. The time limit of an attempt includes the body, unless its handler gives the response earlier, as
 * {@code ofInputStream} does. Redirects are followed as {@code client} does; where that follows none, deferred calls follow those within their origin.
 */
public final class RetryHttpClient {
  private final HttpClient client;
  private final RetryQueue queue;

  /** Sends by {@code client}. A {@link HttpRequest#timeout()} limits each attempt, beside the queue's own limits. */
  public RetryHttpClient(HttpClient client, RetryQueue queue) {
    this.client = OptionException.given("client", client);
    this.queue = OptionException.given("queue", queue);
  }

  /** Sends a request and waits for the answer that counts. Exceptions are those of {@link HttpClient#send}, and those of {@link RetryQueue#call}. */
  public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler) throws IOException, InterruptedException {
    return await(sendAsync(request, handler));
  }

  /** Sends a request. To cancel the future ends the call. */
  public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler) {
    RetryRequest described = describe(request);
    return queue.call(described, attempt(keyed(request, described), handler));
  }

  /**
   * Sends a request, and lets the call go on alone where it fails at first: as {@link RetryQueue#callOrDefer}. Do not call it in a transaction, which the
   * DeferredException may roll back while the call goes on: an {@link Outbox} is for that.
   */
  public <T> HttpResponse<T> sendOrDefer(HttpRequest request, BodyHandler<T> handler) throws IOException, InterruptedException {
    RetryRequest described = describe(request);
    return await(queue.callOrDefer(described, attempt(keyed(request, described), handler)));
  }

  private <T> Attempt<HttpResponse<T>> attempt(HttpRequest request, BodyHandler<T> handler) {
    return context -> {
      URI uri = context.uri();
      HttpRequest led = uri.equals(request.uri()) ? request : copyOf(request).uri(uri).build();
      CompletableFuture<HttpResponse<T>> sending = client.sendAsync(led, handler);
      context.onAbort(() -> sending.cancel(true));
      return sending.thenApply(response -> new Answer<>(response.statusCode(), response.headers().map()::forEach, response, () -> discard(response.body())));
    };
  }

  private static RetryRequest describe(HttpRequest request) {
    long length = request.bodyPublisher().map(BodyPublisher::contentLength).orElse(0L);
    return RetryRequest.of(request.method(), request.uri(), name -> request.headers().firstValue(name).orElse(null), length >= 0, Math.max(0, length));
  }

  private static HttpRequest keyed(HttpRequest request, RetryRequest described) {
    boolean isThere = described.key() == null || request.headers().firstValue(RetryRequest.KEY_HEADER).isPresent();
    return isThere ? request : copyOf(request).setHeader(RetryRequest.KEY_HEADER, described.key()).build();
  }

  private static HttpRequest.Builder copyOf(HttpRequest request) {
    return HttpRequest.newBuilder(request, (name, value) -> true);
  }

  /** Gives up a body that no caller reads. Those that are not read from the connection have nothing to give up. */
  private static void discard(Object body) {
    if (body instanceof AutoCloseable open) {
      try {
        open.close();
      } catch (Exception ignored) {
        // its connection is gone already
      }
    } else if (body instanceof Flow.Publisher<?> publisher) {
      publisher.subscribe(new Cancelling<>());
    }
  }

  private record Cancelling<T>() implements Flow.Subscriber<T> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.cancel();
    }

    @Override
    public void onNext(T item) {}

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onComplete() {}
  }

  /** Waits for the end of a call of {@link RetryQueue#call}, for adapters that block. A caller that is interrupted leaves. */
  public static <T> T await(CompletableFuture<T> call) throws IOException, InterruptedException {
    try {
      return call.get();
    } catch (InterruptedException left) {
      call.cancel(true);
      throw left;
    } catch (ExecutionException failed) {
      Throwable cause = failed.getCause();
      if (cause instanceof IOException error) throw error;
      if (cause instanceof RuntimeException error) throw error;
      if (cause instanceof Error error) throw error;
      throw new IOException(cause);
    }
  }
}

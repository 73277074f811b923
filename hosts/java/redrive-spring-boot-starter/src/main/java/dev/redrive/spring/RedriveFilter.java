package dev.redrive.spring;

import dev.redrive.Answer;
import dev.redrive.Attempt;
import dev.redrive.RetryQueue;
import dev.redrive.RetryRequest;
import java.util.concurrent.CompletableFuture;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.web.reactive.function.BodyExtractors;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Retries the calls of a WebClient: {@code WebClient.builder().filter(redrive)}. Add it last. Nothing blocks, and who cancels the call leaves it. Of a
 * failed answer the first 256 KiB of the body are kept.
 */
public final class RedriveFilter implements ExchangeFilterFunction {
  /** An attribute of a request, of any value: its body can be read only once, so it is sent once. */
  public static final String ONCE = RedriveFilter.class.getName() + ".once";

  private static final int KEPT_BYTES = 256 * 1024;

  private final RetryQueue queue;
  private final boolean defers;

  /** Retries by {@code queue}. */
  public RedriveFilter(RetryQueue queue) {
    this(queue, false);
  }

  private RedriveFilter(RetryQueue queue, boolean defers) {
    this.queue = queue;
    this.defers = defers;
  }

  /** A filter that waits for the first attempt only, as {@link RedriveInterceptor#orDefer()} does. */
  public RedriveFilter orDefer() {
    return new RedriveFilter(queue, true);
  }

  @Override
  public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
    Mono<Boolean> mayDefer = defers ? isInTransaction().map(isIn -> !isIn) : Mono.just(false);
    return Mono.deferContextual(context -> mayDefer.flatMap(may -> Mono.fromFuture(call(request, next, context, may))));
  }

  /** One of this thread, or of Reactor's context. */
  private static Mono<Boolean> isInTransaction() {
    Mono<Boolean> ofThread = Mono.fromSupplier(Transactions::isActive);
    return Transactions.ARE_THERE
        ? TransactionSynchronizationManager.forCurrentTransaction().map(manager -> manager.isActualTransactionActive()).onErrorResume(none -> ofThread)
        : ofThread;
  }

  private CompletableFuture<ClientResponse> call(ClientRequest request, ExchangeFunction next, ContextView context, boolean mayDefer) {
    HttpHeaders headers = request.headers();
    boolean isRepeatable = !request.attributes().containsKey(ONCE);
    long length = Math.max(0, headers.getContentLength());
    RetryRequest described = RetryRequest.of(request.method().name(), request.url(), headers::getFirst, isRepeatable, length);
    ClientRequest keyed = described.key() == null ? request
        : ClientRequest.from(request).headers(all -> all.set(RetryRequest.KEY_HEADER, described.key())).build();
    Attempt<ClientResponse> attempt = attempted -> {
      Mono<Answer<ClientResponse>> sending = next.exchange(ClientRequest.from(keyed).url(attempted.uri()).build()).flatMap(RedriveFilter::answer);
      CompletableFuture<Answer<ClientResponse>> answered = sending.contextWrite(context).toFuture();
      attempted.onAbort(() -> answered.cancel(true));
      return answered;
    };
    return mayDefer ? queue.callOrDefer(described, attempt) : queue.call(described, attempt);
  }

  private static Mono<Answer<ClientResponse>> answer(ClientResponse response) {
    int status = response.statusCode().value();
    HttpHeaders headers = response.headers().asHttpHeaders();
    if (status < 400) return Mono.just(new Answer<>(status, headers::forEach, response, () -> response.releaseBody().subscribe()));
    // so that its connection does not wait for a retry
    Flux<DataBuffer> body = DataBufferUtils.takeUntilByteCount(response.body(BodyExtractors.toDataBuffers()), KEPT_BYTES);
    return DataBufferUtils.join(body).map(RedriveFilter::bytes).defaultIfEmpty(new byte[0]).map(bytes -> {
      Flux<DataBuffer> kept = Flux.defer(() -> Flux.just(DefaultDataBufferFactory.sharedInstance.wrap(bytes)));
      return new Answer<>(status, headers::forEach, response.mutate().body(before -> kept).build(), () -> {});
    });
  }

  private static byte[] bytes(DataBuffer buffer) {
    byte[] bytes = new byte[buffer.readableByteCount()];
    buffer.read(bytes);
    DataBufferUtils.release(buffer);
    return bytes;
  }
}

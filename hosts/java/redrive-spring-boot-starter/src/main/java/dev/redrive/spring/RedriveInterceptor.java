package dev.redrive.spring;

import dev.redrive.Answer;
import dev.redrive.Attempt;
import dev.redrive.RetryHttpClient;
import dev.redrive.RetryQueue;
import dev.redrive.RetryRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.SequenceInputStream;
import java.net.URI;
import java.util.concurrent.Executor;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.http.client.support.HttpRequestWrapper;

/**
 * Retries the calls of a RestClient or RestTemplate: {@code RestClient.builder().requestInterceptor(redrive)}. Add it last, so that each attempt is no
 * more than sending. The first attempt runs on the caller's thread, retries on {@code redriveTaskExecutor}. An attempt that takes too long is
 * interrupted, which the JDK's client heeds; give other request factories a read timeout of their own.
 */
public final class RedriveInterceptor implements ClientHttpRequestInterceptor {
  /** The most of a failed answer's body that is read ahead, so that its connection does not wait for a retry. */
  private static final int READ_AHEAD = 64 * 1024;

  private final RetryQueue queue;
  private final Executor executor;
  private final boolean defers;

  /** Retries on {@code executor}. */
  public RedriveInterceptor(RetryQueue queue, Executor executor) {
    this(queue, executor, false);
  }

  private RedriveInterceptor(RetryQueue queue, Executor executor, boolean defers) {
    this.queue = queue;
    this.executor = executor;
    this.defers = defers;
  }

  /**
   * An interceptor that waits for the first attempt only: where that fails in a way that may pass, the call throws a
   * {@link dev.redrive.DeferredException} and goes on alone, and the request that made it is answered with a 202. In a transaction, which that
   * exception would roll back while the call goes on, it waits as any other: give the call to an {@link dev.redrive.Outbox} there.
   */
  public RedriveInterceptor orDefer() {
    return new RedriveInterceptor(queue, executor, true);
  }

  @Override
  public ClientHttpResponse intercept(HttpRequest request, byte[] body, ClientHttpRequestExecution execution) throws IOException {
    HttpHeaders headers = request.getHeaders();
    RetryRequest described = RetryRequest.of(request.getMethod().name(), request.getURI(), headers::getFirst, true, body.length);
    if (described.key() != null) headers.set(RetryRequest.KEY_HEADER, described.key());
    Attempt<ClientHttpResponse> attempt = context -> {
      HttpRequest led = new HttpRequestWrapper(request) {
        @Override
        public URI getURI() {
          return context.uri();
        }
      };
      return Attempt.blocking(executor, () -> answer(execution.execute(led, body))).send(context);
    };
    try {
      return RetryHttpClient.await(defers && !Transactions.isActive() ? queue.callOrDefer(described, attempt) : queue.call(described, attempt));
    } catch (InterruptedException left) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("the caller was interrupted, and its call has ended").initCause(left);
    }
  }

  private static Answer<ClientHttpResponse> answer(ClientHttpResponse response) throws IOException {
    int status = response.getStatusCode().value();
    ClientHttpResponse whole = status < 400 ? response : new ReadAhead(response);
    return new Answer<>(status, response.getHeaders()::forEach, whole, whole::close);
  }

  /** A failed answer whose body has been read. What is longer than that stays on its connection. */
  private static final class ReadAhead implements ClientHttpResponse {
    private final ClientHttpResponse response;
    private final InputStream body;

    ReadAhead(ClientHttpResponse response) throws IOException {
      this.response = response;
      InputStream from = response.getBody();
      byte[] read = from.readNBytes(READ_AHEAD);
      boolean isWhole = read.length < READ_AHEAD;
      if (isWhole) response.close();
      InputStream first = new ByteArrayInputStream(read);
      body = isWhole ? first : new SequenceInputStream(first, from);
    }

    @Override
    public HttpStatusCode getStatusCode() throws IOException {
      return response.getStatusCode();
    }

    @Override
    public String getStatusText() throws IOException {
      return response.getStatusText();
    }

    @Override
    public HttpHeaders getHeaders() {
      return response.getHeaders();
    }

    @Override
    public InputStream getBody() {
      return body;
    }

    @Override
    public void close() {
      response.close();
    }
  }
}

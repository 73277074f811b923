package dev.redrive.spring;

import dev.redrive.Outbox;
import dev.redrive.OutboxRelay;
import dev.redrive.QueueBuilder;
import dev.redrive.QueueListener;
import dev.redrive.RetryPolicy;
import dev.redrive.RetryQueue;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.net.URI;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.TaskDecorator;
import org.springframework.core.task.TaskExecutor;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;

/** The queue, its executor, and what connects it with Spring's clients, Micrometer, Actuator and JDBC, each where the application has that. */
@AutoConfiguration(
    after = TaskExecutionAutoConfiguration.class,
    // Boot 3, Boot 4
    afterName = {
      "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration"
    })
@EnableConfigurationProperties(RedriveProperties.class)
public class RedriveAutoConfiguration {
  /** Runs blocking retries. A bean of this name takes its place. It is none for {@code @Async}, nor for a bean that asks for any executor. */
  @Bean(defaultCandidate = false)
  @ConditionalOnMissingBean(name = "redriveTaskExecutor")
  TaskExecutor redriveTaskExecutor(RedriveProperties settings, ObjectProvider<TaskDecorator> decorator) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor() {
      @Override
      public Thread createThread(Runnable work) {
        // a thread serves the calls of any user, so it inherits the thread locals of none
        Thread thread = new Thread(getThreadGroup(), work, nextThreadName(), 0, false);
        thread.setContextClassLoader(loader);
        return thread;
      }
    };
    executor.setThreadNamePrefix("redrive-");
    executor.setCorePoolSize(settings.corePoolSize());
    executor.setMaxPoolSize(settings.maxPoolSize());
    executor.setQueueCapacity(settings.queueCapacity());
    executor.setAllowCoreThreadTimeOut(true);
    decorator.ifUnique(executor::setTaskDecorator);
    return executor;
  }

  @Bean
  @ConditionalOnMissingBean
  RetryQueue retryQueue(RedriveProperties settings, ObjectProvider<QueueListener> listeners) {
    QueueBuilder builder = RetryQueue.builder()
        .capacity(settings.capacity())
        .capacityBytes(settings.capacityBytes().toBytes())
        .maxLaneHold(settings.maxLaneHold())
        .wait(settings.longestWait())
        .policy(RetryPolicy.interactive().with(settings.policy()))
        .deferredPolicy(RetryPolicy.background().with(settings.deferredPolicy()));
    listeners.orderedStream().forEach(builder::listener);
    if (settings.concurrency() != null) builder.concurrency(settings.concurrency());
    if (settings.concurrencyPerOrigin() != null) builder.concurrencyPerOrigin(settings.concurrencyPerOrigin());
    return builder.build();
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ClientHttpRequestInterceptor.class)
  static class Blocking {
    @Bean
    @ConditionalOnMissingBean
    RedriveInterceptor redriveInterceptor(RetryQueue queue, @Qualifier("redriveTaskExecutor") TaskExecutor executor) {
      return new RedriveInterceptor(queue, executor);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ExchangeFilterFunction.class)
  static class Reactive {
    @Bean
    @ConditionalOnMissingBean
    RedriveFilter redriveFilter(RetryQueue queue) {
      return new RedriveFilter(queue);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnWebApplication
  static class Web {
    @Bean
    DeferredAdvice redriveDeferredAdvice() {
      return new DeferredAdvice();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterBinder.class)
  static class Metrics {
    @Bean
    RedriveMetrics redriveMetrics() {
      return new RedriveMetrics();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Endpoint.class)
  static class Actuator {
    @Bean
    RedriveEndpoint redriveEndpoint(RetryQueue queue) {
      return new RedriveEndpoint(queue);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(TransactionAwareDataSourceProxy.class)
  @ConditionalOnProperty("redrive.outbox.service")
  @ConditionalOnSingleCandidate(DataSource.class)
  static class Jdbc {
    /** Its {@code add(task)} is part of the transaction of {@code @Transactional}; where there is none, it commits by itself. */
    @Bean
    @ConditionalOnMissingBean
    Outbox redriveOutbox(DataSource source, RedriveProperties settings) throws SQLException {
      if (settings.outbox().createTable()) new Outbox(source).createTable();
      return new Outbox(new TransactionAwareDataSourceProxy(source), TransactionSynchronizationManager::isActualTransactionActive);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    @ConditionalOnMissingBean
    OutboxRelay redriveOutboxRelay(Outbox outbox, DataSource source, RedriveProperties settings) {
      RedriveProperties.Outbox given = settings.outbox();
      return new OutboxRelay(source, URI.create(given.service()), given.token(), given.interval());
    }
  }
}

package dev.redrive.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redrive.Outbox;
import dev.redrive.RetryQueue;
import java.util.List;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.task.SyncTaskExecutor;
import org.springframework.core.task.TaskExecutor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

class ConfigurationTest {
  private final ApplicationContextRunner runner = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(RedriveAutoConfiguration.class, TaskExecutionAutoConfiguration.class));

  @Test
  @DisplayName("the settings of the executor have their defaults, and the names of the documents")
  void executor() {
    runner.run(context -> {
      ThreadPoolTaskExecutor executor = context.getBean("redriveTaskExecutor", ThreadPoolTaskExecutor.class);
      assertEquals(List.of(6, 24, 1000), List.of(executor.getCorePoolSize(), executor.getMaxPoolSize(), executor.getQueueCapacity()));
    });
    runner.withPropertyValues("redrive.core-pool-size=2", "redrive.max-pool-size=5", "redrive.queue-capacity=7").run(context -> {
      ThreadPoolTaskExecutor executor = context.getBean("redriveTaskExecutor", ThreadPoolTaskExecutor.class);
      assertEquals(List.of(2, 5, 7), List.of(executor.getCorePoolSize(), executor.getMaxPoolSize(), executor.getQueueCapacity()));
    });
  }

  @Test
  @DisplayName("a thread of the executor inherits nothing of the caller for which it is started")
  void threads() {
    InheritableThreadLocal<String> user = new InheritableThreadLocal<>();
    user.set("ann");
    runner.run(context -> assertNull(context.getBean("redriveTaskExecutor", ThreadPoolTaskExecutor.class).submit(user::get).get()));
  }

  @Test
  @DisplayName("the executor takes the place of no other: who asks for any gets that of Spring Boot")
  void otherExecutors() {
    runner.run(context -> {
      assertSame(context.getBean("applicationTaskExecutor"), context.getBean(Executor.class));
      assertNotSame(context.getBean("redriveTaskExecutor"), context.getBean(TaskExecutor.class));
    });
  }

  @Test
  @DisplayName("an executor of one's own by that name takes its place")
  void ownExecutor() {
    runner.withBean("redriveTaskExecutor", TaskExecutor.class, SyncTaskExecutor::new)
        .run(context -> assertTrue(context.getBean("redriveTaskExecutor") instanceof SyncTaskExecutor));
  }

  @Test
  @DisplayName("a wrong setting ends the start with its name, what was expected, and the value")
  void wrongSettings() {
    refused("redrive.concurrency=0", "concurrency: expected a whole number, 1..10000, got 0");
    refused("redrive.policy.maxAttempts=0", "policy.maxAttempts: expected a whole number, 1..=1000000, got 0");
    refused("redrive.policy.colour=red", "policy.colour: expected one of ");
    refused("redrive.wait=0s", "wait: expected 1 ms to ");
    refused("redrive.core-pool-size=32", "maxPoolSize: expected 32 or more, as corePoolSize is 32, got 24");
    refused("redrive.max-pool-size=0", "maxPoolSize: expected 6 or more, as corePoolSize is 6, got 0");
    refused("redrive.queue-capacity=-1", "queueCapacity: expected 0 or more, got -1");
    for (String address : List.of("127.0.0.1:7733", "localhost:7733", "http://my_service:7733")) {
      refused("redrive.outbox.service=" + address, "outbox.service: expected an address such as http://127.0.0.1:7733 (no host with a '_'), got " + address);
    }
  }

  private void refused(String setting, String message) {
    runner.withPropertyValues(setting).run(context -> {
      Throwable cause = context.getStartupFailure();
      while (cause.getCause() != null) cause = cause.getCause();
      assertTrue(cause.getMessage().startsWith(message), cause.getMessage());
    });
  }

  @Test
  @DisplayName("without WebClient, Micrometer, Actuator and JDBC the rest is there")
  void alone() {
    FilteredClassLoader without = new FilteredClassLoader("org.springframework.web.reactive", "io.micrometer", "org.springframework.boot.actuate",
        "org.springframework.jdbc", "reactor");
    runner.withClassLoader(without).withPropertyValues("redrive.outbox.service=http://127.0.0.1:7733").run(context -> {
      assertTrue(context.getBean(RetryQueue.class).stats().origins().isEmpty());
      assertEquals(1, context.getBeansOfType(RedriveInterceptor.class).size());
      assertFalse(context.containsBean("redriveFilter"));
      assertTrue(context.getBeansOfType(Outbox.class).isEmpty());
    });
  }
}

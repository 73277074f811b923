package dev.redrive.shop;

import dev.redrive.Outbox;
import dev.redrive.OutboxTask;
import dev.redrive.spring.RedriveFilter;
import dev.redrive.spring.RedriveInterceptor;
import java.net.URI;
import java.net.http.HttpClient;
import java.sql.SQLException;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.reactive.function.client.WebClient;

/** An application with all that the starter connects. */
@SpringBootApplication
class Shop {
  @Bean
  JdkClientHttpRequestFactory requestFactory() {
    return new JdkClientHttpRequestFactory(HttpClient.newHttpClient());
  }

  @Bean
  RestClient restClient(RedriveInterceptor redrive, JdkClientHttpRequestFactory factory) {
    return RestClient.builder().requestFactory(factory).requestInterceptor(redrive).build();
  }

  @Bean
  RestTemplate restTemplate(RedriveInterceptor redrive, JdkClientHttpRequestFactory factory) {
    RestTemplate template = new RestTemplate(factory);
    template.getInterceptors().add(redrive);
    return template;
  }

  @Bean
  WebClient webClient(RedriveFilter redrive) {
    return WebClient.builder().filter(redrive).build();
  }

  @RestController
  static class Orders {
    private final RestClient invoices;

    Orders(RedriveInterceptor redrive, JdkClientHttpRequestFactory factory) {
      invoices = RestClient.builder().requestFactory(factory).requestInterceptor(redrive.orDefer()).build();
    }

    @PostMapping("/orders")
    String order(@RequestBody String order, @RequestParam URI to) {
      return invoices.post().uri(to).body(order).retrieve().body(String.class);
    }
  }

  /** As applications have it. */
  @RestControllerAdvice
  static class Errors {
    @ExceptionHandler
    ResponseEntity<String> any(Exception error) {
      return ResponseEntity.internalServerError().body("error");
    }
  }

  @Service
  static class Sales {
    private final Outbox outbox;
    private final JdbcTemplate database;

    Sales(Outbox outbox, JdbcTemplate database) {
      this.outbox = outbox;
      this.database = database;
    }

    @Transactional
    void sell(int number, boolean fails) throws SQLException {
      database.update("insert into sales values (?)", number);
      outbox.add(OutboxTask.post(URI.create("https://api.test/sales")).json("{\"sale\":" + number + "}").key("sale-" + number));
      if (fails) throw new IllegalStateException("out of stock");
    }
  }
}

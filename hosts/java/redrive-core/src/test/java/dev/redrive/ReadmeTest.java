package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadmeTest {
  @Test
  @DisplayName("the first snippet of the README makes a call that succeeds at its second attempt")
  void firstCall(@TempDir Path folder) throws Exception {
    try (Server server = new Server(Server.statuses(503, 201))) {
      Class<?> snippet = Snippets.compile("FirstCall", "readme", server.uri(""), folder);
      PrintStream before = System.out;
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      try {
        System.setOut(new PrintStream(printed));
        snippet.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
      } finally {
        System.setOut(before);
      }
      assertEquals("201", printed.toString().trim());
      assertEquals(2, server.visits.size());
      assertEquals(1, server.visits.stream().map(Server.Visit::key).distinct().count());
    }
  }

  @Test
  @DisplayName("the README has 60 lines at most")
  void length() throws Exception {
    long lines = Files.readAllLines(Path.of("../README.md")).size();
    assertTrue(lines <= 60, lines + " lines");
  }
}

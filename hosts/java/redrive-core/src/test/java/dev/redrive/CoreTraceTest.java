package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CoreTraceTest {
  @Test
  @DisplayName("S21 the recorded worlds replay word for word")
  void replays() throws Exception {
    Map<String, Integer> ops = ops();
    Core core = new Core();
    int calls = 0;
    for (String line : trace()) {
      String[] sides = line.split(" =", 2);
      String[] asked = sides[0].split(" ");
      double[] answer = core.run(ops.get(asked[0].toLowerCase(Locale.ROOT)), numbers(Arrays.copyOfRange(asked, 1, asked.length)));
      double[] expected = sides[1].isBlank() ? new double[0] : numbers(sides[1].trim().split(" "));
      assertArrayEquals(expected, answer, () -> line + "\ngot " + Arrays.toString(answer));
      calls++;
    }
    assertTrue(calls > 2000, calls + " calls");
  }

  @Test
  @DisplayName("several calls in one run are answered in their order, and one that cannot be read is a fault")
  void severalCalls() {
    Core core = new Core();
    double[][] answers = core.run(new Core.Calls().add(Codes.OP_DEPTH).add(Codes.OP_LANE).add(Codes.OP_DEPTH));
    assertEquals(3, answers.length);
    assertArrayEquals(new double[] {0}, answers[0]);
    assertEquals(1, answers[1].length);
    assertThrows(IllegalStateException.class, () -> core.run(new Core.Calls().add(Codes.OP_DEPTH).add(999)));
  }

  @Test
  @DisplayName("an interrupted thread has its answers, and stays interrupted")
  void interrupted() {
    Core core = new Core();
    Thread.currentThread().interrupt();
    assertArrayEquals(new double[] {0}, core.run(Codes.OP_DEPTH));
    assertTrue(Thread.interrupted());
  }

  private static List<String> trace() throws IOException {
    return Files.readAllLines(Vectors.FOLDER.resolve("core-trace.txt")).stream().filter(line -> !line.startsWith("#") && !line.isEmpty()).toList();
  }

  private static double[] numbers(String[] words) {
    return Arrays.stream(words).mapToDouble(Double::parseDouble).toArray();
  }

  /** The calls by their names in the trace: those of the constants, without underscores. */
  private static Map<String, Integer> ops() throws IllegalAccessException {
    Map<String, Integer> ops = new HashMap<>();
    for (Field field : Codes.class.getDeclaredFields()) {
      if (field.getName().startsWith("OP_")) ops.put(field.getName().substring(3).replace("_", "").toLowerCase(Locale.ROOT), field.getInt(null));
    }
    return ops;
  }
}

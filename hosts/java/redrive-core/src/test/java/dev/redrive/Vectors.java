package dev.redrive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** The rows of tests/vectors, whose README has the formats. */
final class Vectors {
  static final Path FOLDER = Path.of("../../../tests/vectors");

  private Vectors() {}

  static List<JsonNode> rows(String name) {
    List<JsonNode> rows = new ArrayList<>();
    for (JsonNode row : read(FOLDER.resolve(name + ".json")).get("vectors")) {
      if (!row.has("columns")) {
        rows.add(row);
        continue;
      }
      // many rows that differ in these columns alone
      for (JsonNode values : row.get("rows")) {
        ObjectNode one = row.deepCopy();
        one.remove(List.of("columns", "rows"));
        for (int i = 0; i < values.size(); i++) one.set(row.get("columns").get(i).asText(), values.get(i));
        rows.add(one);
      }
    }
    return rows;
  }

  private static JsonNode read(Path file) {
    try {
      return new ObjectMapper().readTree(Files.readString(file));
    } catch (IOException failed) {
      throw new IllegalStateException("the tests read " + file.toAbsolutePath() + ": they run in a checkout of the project", failed);
    }
  }

  /** The row of numbers of a policy's options, as they are, for the core to check. */
  static double[] policyRow(JsonNode options) {
    double[] numbers = Codes.POLICY_FIELDS.stream().mapToDouble(name -> number(name, options.get(name))).toArray();
    double[] delays = list(options.get("delaysMs"));
    double[] statuses = list(options.get("retryableStatusCodes"));
    double[] lengths = {delays == null ? Double.NaN : delays.length, statuses == null ? Double.NaN : statuses.length};
    return Stream.of(numbers, lengths, delays, statuses).filter(part -> part != null).flatMapToDouble(Arrays::stream).toArray();
  }

  private static double number(String name, JsonNode value) {
    if (value == null || value.isNull()) return Double.NaN;
    if (value.isBoolean()) return value.asBoolean() ? 1 : 0;
    if (value.isTextual()) return (name.equals("strategy") ? Codes.STRATEGIES : Codes.JITTERS).indexOf(value.asText());
    return value.asDouble();
  }

  private static double[] list(JsonNode values) {
    if (values == null || values.isNull()) return null;
    double[] numbers = new double[values.size()];
    for (int i = 0; i < numbers.length; i++) numbers[i] = values.get(i).asDouble();
    return numbers;
  }

  static double or(JsonNode value, double other) {
    return value == null || value.isNull() ? other : value.asDouble();
  }

  static String text(JsonNode value) {
    return value == null || value.isNull() ? "" : value.asText();
  }

  /** The bytes of a member, or those of the member with `Hex` behind its name. */
  static byte[] bytes(JsonNode row, String name) {
    return row.has(name + "Hex") ? HexFormat.of().parseHex(row.get(name + "Hex").asText()) : Core.bytes(text(row.get(name)));
  }
}

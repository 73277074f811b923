package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.wasm.Parser;
import java.io.File;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a decision costs: {@code mvn -q test -pl redrive-core -Dtest=CoreBench -Dgroups=bench -DexcludedGroups=}. */
@Tag("bench")
class CoreBench {
  @Test
  @DisplayName("ns per call of the core, interpreted and compiled")
  void decisions() {
    File module = new File("src/main/resources/dev/redrive/redrive-core.wasm");
    double interpreted = nanos("interpreted", () -> new Core(Instance.builder(Parser.parse(module)).build()), 200);
    double compiled = nanos("compiled", Core::new, 20_000);
    System.out.printf("compiled is %.0f times as fast%n", interpreted / compiled);
    assertTrue(compiled < interpreted);
  }

  /** The calls of one retried call: entry, classification, admission, verdict, start, verdict. */
  private static double nanos(String name, Supplier<Core> make, int rounds) {
    long made = System.nanoTime();
    Core core = make.get();
    made = System.nanoTime() - made;
    core.run(new Core.Calls().add(Codes.OP_NEW, 6, 3, 10_000, 1e8, 60_000, 1, 2).add(Codes.OP_SET_WHEN_OPEN, 1));
    double policy = core.run(Codes.OP_POLICY, RetryPolicy.interactive().row())[0];
    double lane = core.run(Codes.OP_LANE)[0];
    double now = 1_800_000_000_000.0;
    double best = Double.POSITIVE_INFINITY;
    for (int batch = 0; batch < 8; batch++) {
      long started = System.nanoTime();
      for (int i = 0; i < rounds; i++) {
        now += 5;
        core.run(Codes.OP_CALL, now, lane, now + 30_000, 0);
        core.run(Codes.OP_CLASSIFY, policy, 0, 503, 3, 0);
        double slot = core.run(Codes.OP_ADMIT, now, lane, policy, 0, 0, 3, now, Double.POSITIVE_INFINITY, now + 30_000, Codes.NONE, now)[0];
        settle(core, now, slot, 503);
        now += 600;
        core.run(new Core.Calls().add(Codes.OP_POLL, now).add(Codes.OP_WAKE_AT));
        settle(core, now + 5, slot, 200);
      }
      best = Math.min(best, (System.nanoTime() - started) / (6.0 * rounds));
    }
    System.out.printf("%s: %.0f ns a crossing of about two calls; made in %d ms%n", name, best, made / 1_000_000);
    return best;
  }

  private static void settle(Core core, double now, double slot, int status) {
    core.run(new Core.Calls()
        .add(Codes.OP_SETTLE, now, slot, 0, status, Double.NaN, 5, Double.NaN, 0, 0, 0, Double.NaN, 0, 0, 0, Codes.NONE)
        .add(Codes.OP_POLL, now).add(Codes.OP_WAKE_AT));
  }
}

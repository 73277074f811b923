package dev.redrive;

import com.dylibso.chicory.runtime.ExportFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * The module that decides. It owns an instance of it, carries calls in and answers out, and knows the meaning of none: that is with those who
 * call it.
 *
 * <p>All instances run on one thread of their own, which no caller can interrupt: Chicory gives a call up in the middle when its thread is interrupted, and
 * what it leaves behind is no queue any more. The thread makes decisions and nothing else, so those who wait for it wait for microseconds. Work that
 * needs several runs in one piece goes there as a whole, by {@link #inside}.
 */
final class Core {
  private static final int ABI = 1;
  private static final double FAULT = 4294967295.0;

  private static final ExecutorService CARRIER = Executors.newSingleThreadExecutor(Carrier::new);

  private final ExportFunction words;
  private final ExportFunction text;
  private final ExportFunction run;
  private final ExportFunction answers;
  private final Memory memory;

  private static final class Carrier extends Thread {
    Carrier(Runnable work) {
      // what the first caller has in its thread locals stays with it
      super(null, work, "redrive-core", 0, false);
      setDaemon(true);
    }

    @Override
    public void interrupt() {
      // see above
    }
  }

  /** For what belongs to no queue: presets, header names, durations. */
  private static final class Shared {
    static final Core CORE = new Core();
  }

  /** Compiled to bytecode when the library was built. */
  Core() {
    this(Instance.builder(CoreModule.load()).withMachineFactory(CoreModule::create).build());
  }

  Core(Instance instance) {
    words = instance.export("rd_words");
    text = instance.export("rd_text");
    run = instance.export("rd_run");
    answers = instance.export("rd_answers");
    memory = instance.memory();
    int abi = (int) instance.export("rd_abi").apply()[0];
    if (abi != ABI) throw new IllegalStateException("redrive-core.wasm speaks version " + abi + " of the protocol, not " + ABI);
  }

  static Core shared() {
    return Shared.CORE;
  }

  /** Does work on the thread of the modules, and waits for it. */
  static <T> T inside(Supplier<T> work) {
    if (Thread.currentThread() instanceof Carrier) return work.get();
    try {
      return CompletableFuture.supplyAsync(work, CARRIER).join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof RuntimeException error) throw error;
      throw failed;
    }
  }

  /** Calls that are run in one crossing, one behind the other. */
  static final class Calls {
    private double[] words = new double[64];
    private int size;
    private int count;

    Calls add(int op, double... args) {
      if (size + args.length + 2 > words.length) words = Arrays.copyOf(words, Math.max(words.length * 2, size + args.length + 2));
      words[size++] = op;
      words[size++] = args.length;
      System.arraycopy(args, 0, words, size, args.length);
      size += args.length;
      count++;
      return this;
    }
  }

  /** Runs a call, and gives the numbers of its answer. */
  double[] run(int op, double... args) {
    return run(new Calls().add(op, args))[0];
  }

  /** Runs calls, and gives the numbers of each answer. IllegalStateException: the module could not read one, which is a fault of this library. */
  double[][] run(Calls calls) {
    return inside(() -> cross(calls));
  }

  private double[][] cross(Calls calls) {
    ByteBuffer out = ByteBuffer.allocate(calls.size * Double.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    out.asDoubleBuffer().put(calls.words, 0, calls.size);
    memory.write((int) words.apply(calls.size)[0], out.array());
    int size = (int) run.apply(calls.size)[0];
    byte[] in = memory.readBytes((int) answers.apply()[0], size * Double.BYTES);
    double[] numbers = new double[size];
    ByteBuffer.wrap(in).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(numbers);
    double[][] each = new double[calls.count][];
    int at = 0;
    for (int i = 0; i < each.length; i++) {
      if (at >= size || numbers[at] == FAULT) throw new IllegalStateException("the module could not read call " + (i + 1) + " of " + each.length);
      int count = (int) numbers[at++];
      each[i] = Arrays.copyOfRange(numbers, at, at + count);
      at += count;
    }
    return each;
  }

  /** Runs a call that reads text, whose length is its first argument. */
  double[] runText(int op, byte[] given, double... rest) {
    double[] args = new double[rest.length + 1];
    args[0] = given.length;
    System.arraycopy(rest, 0, args, 1, rest.length);
    return runParts(op, given, args);
  }

  /** Runs a call that reads text whose lengths stand among its arguments. */
  double[] runParts(int op, byte[] given, double... args) {
    return inside(() -> {
      memory.write((int) text.apply(given.length)[0], given);
      return run(op, args);
    });
  }

  /** The text of the last answer, which says its length. */
  byte[] text(double length) {
    return inside(() -> memory.readBytes((int) text.apply((long) length)[0], (int) length));
  }

  /** The answer of a call that turns text into text; null: none. */
  String transform(int op, String given) {
    return inside(() -> {
      double length = runText(op, bytes(given))[0];
      return length == Codes.NONE ? null : string(text(length));
    });
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String string(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}

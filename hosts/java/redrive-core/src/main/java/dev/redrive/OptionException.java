package dev.redrive;

/** An option or an argument is wrong. The message names it, says what was expected, and has the value. Nothing was sent. */
public final class OptionException extends IllegalArgumentException {
  private final String option;

  OptionException(String option, String message) {
    super(option + ": " + message);
    this.option = option;
  }

  /** The name of the option. */
  public String option() {
    return option;
  }

  static int whole(String option, int value, int least, int most) {
    if (value < least || value > most) throw new OptionException(option, "expected a whole number, " + least + ".." + most + ", got " + value);
    return value;
  }

  static <T> T given(String option, T value) {
    if (value == null) throw new OptionException(option, "expected a value, got null");
    return value;
  }
}

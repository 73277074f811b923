package dev.redrive;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;

/** The Java of hosts/java/README.md, compiled as a newcomer would. */
public final class Snippets {
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  private Snippets() {}

  /** Compiles the snippet that has this class, in a package, with another server in place of its own. */
  public static Class<?> compile(String name, String place, URI server, Path folder) throws IOException, ClassNotFoundException {
    String code = JAVA.matcher(Files.readString(Path.of("../README.md"))).results().map(MatchResult::group)
        .filter(each -> each.contains("class " + name + " ")).findFirst().orElseThrow();
    code = code.substring(code.indexOf('\n') + 1, code.lastIndexOf("```")).replace("http://127.0.0.1:8080", server.toString());
    Path file = Files.writeString(folder.resolve(name + ".java"), "package " + place + ";\n" + code);
    String classpath = System.getProperty("java.class.path");
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-cp", classpath, "-d", folder.toString(), file.toString()));
    return new URLClassLoader(new URL[] {folder.toUri().toURL()}, Snippets.class.getClassLoader()).loadClass(place + "." + name);
  }
}

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's own command-line tools one after another in one JVM, since starting one takes longer than most tools do.
 *
 * Each line of standard input is one run: the main class and its arguments, each in hexadecimal with an {@code x} before it. The
 * answer is one line: the exit status, then what was printed to standard output and to standard error, written alike.
 */
class KafkaTools {
    /** Ends a tool where it would end its JVM. */
    private static final class Exited extends RuntimeException {
        Exited() {
            super(null, null, false, false);
        }
    }

    /** Statuses with which the running tool wanted to exit; the first one counts. */
    private static final List<Integer> STATUSES = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var answers = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        var printed = new ByteArrayOutputStream();
        var errors = new ByteArrayOutputStream();
        // Set once: Scala's console keeps the stream that it finds first.
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        Exit.Procedure exit = (status, message) -> {
            if (message != null) {
                System.err.println(message);
            }
            STATUSES.add(status);
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            var words = Arrays.stream(line.split(" ")).map(KafkaTools::decode).toArray(String[]::new);
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            answers.println(status + " " + encode(printed) + " " + encode(errors));
        }
        System.exit(0);
    }

    private static int run(String mainClass, String[] args) {
        STATUSES.clear();
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Exited)) {
                thrown.getCause().printStackTrace(new PrintWriter(System.err, true));
                return 1;
            }
        } catch (ReflectiveOperationException none) {
            none.printStackTrace(new PrintWriter(System.err, true));
            return 1;
        }
        return STATUSES.isEmpty() ? 0 : STATUSES.get(0);
    }

    private static String decode(String word) {
        return new String(HexFormat.of().parseHex(word.substring(1)), StandardCharsets.UTF_8);
    }

    private static String encode(ByteArrayOutputStream bytes) {
        // Threads that a tool left behind may still print.
        synchronized (bytes) {
            String taken = "x" + HexFormat.of().formatHex(bytes.toByteArray());
            bytes.reset();
            return taken;
        }
    }
}

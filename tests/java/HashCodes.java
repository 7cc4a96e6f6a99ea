import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Says how a broker hashes group ids. Run as {@code java HashCodes.java}.
 *
 * Each line of standard input is a string as UTF-16 code units in hexadecimal, lone surrogates included. For each there are
 * two lines of output: the id as a Java client sends it (a lone surrogate becomes {@code ?}), and as a client sends it that
 * puts surrogates on the wire as they are (the broker decodes them to U+FFFD). Each has the bytes that the broker answers
 * with, the hash, and the partition of 50, separated by spaces.
 */
class HashCodes {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            var units = new char[line.length() / 4];
            for (int i = 0; i < units.length; i++) {
                units[i] = (char) Integer.parseInt(line.substring(4 * i, 4 * i + 4), 16);
            }
            answer(out, new String(units).getBytes(StandardCharsets.UTF_8));
            answer(out, unchecked(units));
        }
        out.flush();
    }

    private static void answer(PrintStream out, byte[] sent) {
        String id = new String(sent, StandardCharsets.UTF_8);
        int hash = id.hashCode();
        int abs = hash == Integer.MIN_VALUE ? 0 : Math.abs(hash);
        String bytes = HexFormat.of().formatHex(id.getBytes(StandardCharsets.UTF_8));
        out.println("x" + bytes + " " + hash + " " + abs % 50);
    }

    /** UTF-8 that encodes lone surrogates as if they were characters. */
    private static byte[] unchecked(char[] units) {
        var bytes = new java.io.ByteArrayOutputStream();
        for (int i = 0; i < units.length; i++) {
            boolean pair = i + 1 < units.length && Character.isSurrogatePair(units[i], units[i + 1]);
            int c = pair ? Character.toCodePoint(units[i], units[++i]) : units[i];
            if (c < 0x80) {
                bytes.write(c);
            } else if (c < 0x800) {
                bytes.write(0xc0 | c >> 6);
                bytes.write(0x80 | c & 0x3f);
            } else if (c < 0x10000) {
                bytes.write(0xe0 | c >> 12);
                bytes.write(0x80 | c >> 6 & 0x3f);
                bytes.write(0x80 | c & 0x3f);
            } else {
                bytes.write(0xf0 | c >> 18);
                bytes.write(0x80 | c >> 12 & 0x3f);
                bytes.write(0x80 | c >> 6 & 0x3f);
                bytes.write(0x80 | c & 0x3f);
            }
        }
        return bytes.toByteArray();
    }
}

// Prints the vectors of murmur2.tsv: a key and the positive hash by which Kafka's own client chooses its partition.
//
//	java -cp kafka-clients.jar Murmur2Vectors.java >murmur2.tsv
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;

class Murmur2Vectors {
    public static void main(String[] args) {
        String[] shapes = {"%d", "order-%d", "Bestellung-%d-größer", "注文%d", "tenant:%08d/customer", "k%dk%<dk%<d", "🛒%d"};
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 1001; i++) {
            String key = String.format(shapes[i % shapes.length], i * 7919);
            byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
            out.append(key).append('\t').append(Utils.toPositive(Utils.murmur2(bytes))).append('\n');
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8), 0, out.toString().getBytes(StandardCharsets.UTF_8).length);
        System.out.flush();
    }
}

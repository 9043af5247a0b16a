// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedDeque;

/**
 * The proxy on virtual threads: one per connection, with blocking sockets. It parses as little as
 * the load generator needs, so its cost is that of threads and sockets, not of a framework.
 */
final class Proxy {
    private static final byte[] REQUEST = bytes("GET / HTTP/1.1\r\nHost: backend\r\n\r\n");
    private static final byte[] BAD = bytes("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    private static final int SIZE = 4096, BACKLOG = 4096;

    private static final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
    private static InetSocketAddress backend;

    /** A socket with what was read from it; a message has a head and a body of a known length. */
    private static final class Connection {
        final Socket socket;
        final InputStream in;
        final OutputStream out;
        final byte[] read = new byte[SIZE];
        int size, head;

        Connection(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            in = socket.getInputStream();
            out = socket.getOutputStream();
        }

        /** Returns the body's length, or -1 at the end of the connection. */
        int message() throws IOException {
            size = 0;
            for (int at = 0;;) {
                int got = in.read(read, size, SIZE - size);
                if (got < 0)
                    return -1;
                size += got;
                for (; at + 4 <= size; at++) {
                    if (read[at] == '\r' && read[at + 1] == '\n' && read[at + 2] == '\r'
                        && read[at + 3] == '\n')
                        return body(at + 4);
                }
            }
        }

        private int body(int head) throws IOException {
            this.head = head;
            int length = 0;
            for (int at = 0; at < head - 4; at++) {
                if (read[at] == '\n' && isLength(at + 1)) {
                    for (at += 16; read[at] == ' '; at++)
                        ;
                    for (; read[at] >= '0' && read[at] <= '9'; at++)
                        length = length * 10 + read[at] - '0';
                }
            }
            while (size < head + length) {
                int got = in.read(read, size, SIZE - size);
                if (got <= 0)
                    throw new IOException("cut off");
                size += got;
            }
            return length;
        }

        private boolean isLength(int at) {
            final String name = "content-length:";
            for (int i = 0; i < name.length(); i++)
                if ((read[at + i] | 0x20) != (name.charAt(i) | 0x20))
                    return false;
            return true;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static void reply(Connection client) throws IOException {
        Connection asked = idle.pollFirst();
        try {
            if (asked == null) {
                Socket made = new Socket();
                made.connect(backend);
                asked = new Connection(made);
            }
            asked.out.write(REQUEST);
            int length = asked.message();
            if (length < 0)
                throw new IOException("closed");
            byte[] head = bytes("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n");
            byte[] whole = new byte[head.length + length];
            System.arraycopy(head, 0, whole, 0, head.length);
            System.arraycopy(asked.read, asked.head, whole, head.length, length);
            idle.addFirst(asked);
            client.out.write(whole);
        } catch (IOException failed) {
            client.out.write(BAD);
        }
    }

    private static void serve(Socket socket) {
        try (socket) {
            Connection client = new Connection(socket);
            while (client.message() >= 0)
                reply(client);
        } catch (IOException closed) {
            // The client has gone.
        }
    }

    public static void main(String[] arguments) throws IOException {
        int port = 0;
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            String value = arguments[at + 1];
            if (arguments[at].equals("--port")) {
                port = Integer.parseInt(value);
            } else if (arguments[at].equals("--backend")) {
                int colon = value.lastIndexOf(':');
                backend = new InetSocketAddress(value.substring(0, colon),
                                                Integer.parseInt(value.substring(colon + 1)));
            }
        }
        try (ServerSocket server = new ServerSocket(port, BACKLOG,
                                                    InetAddress.getByName("127.0.0.1"))) {
            System.out.println("listening on 127.0.0.1:" + server.getLocalPort());
            for (;;) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        }
    }
}

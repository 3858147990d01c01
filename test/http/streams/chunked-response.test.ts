/** Texts on their way to clients that take them in fits and starts. */
import t from 'tap';
import type { ChunkedResponse } from '../../../src/http/streams/chunked-response.js';
import { eventually } from '../../support/eventually.js';
import { RawConnection } from '../../support/raw-client.js';
import { seededRandom } from '../../support/seeded-random.js';
import { startStreamServer } from '../../support/stream-server.js';

const streams: ChunkedResponse[] = [];
const { port } = await startStreamServer(t, { texts: (stream) => streams.push(stream) });

/** Opens a stream, of which nothing is read yet. */
async function open(): Promise<{ connection: RawConnection; stream: ChunkedResponse }> {
  const connection = await RawConnection.open(port);
  connection.socket.pause();
  connection.send('GET', '/texts');
  const stream = await eventually('the stream is open', () => streams.pop());
  return { connection, stream };
}

/** Texts of random lengths, more of them than the system holds for a client; returns all of them. */
function sendMany(stream: ChunkedResponse, random: () => number): string {
  let sent = '';
  for (let count = 0; count < 500; count++) {
    const text = `${count} ${'ü'.repeat(Math.floor(200_000 ** random()))}\n`;
    stream.send(text);
    sent += text;
  }
  stream.end();
  return sent;
}

void t.test('clients that read in fits and starts miss nothing', async (t) => {
  const random = seededRandom(2);
  for (let round = 0; round < 10; round++) {
    const { connection, stream } = await open();
    const { socket } = connection;
    const sent = sendMany(stream, random);
    const stutter = setInterval(() => {
      if (random() < 0.5) socket.pause();
      else socket.resume();
    }, 2);
    t.ok((await connection.reply('GET', 60_000)).text === sent);
    clearInterval(stutter);
    connection.close();
  }
});

/** Two hundred clients at 1 kB/s, both ways, for longer than the library would bear them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../../support/client.js';
import { IMAGES, putImage, nothingUnfinished } from '../../support/image-transfers.js';
import { RandomBytes } from '../../support/random.js';
import { RawConnection, requestBytes } from '../../support/raw-client.js';
import { startServer } from '../../support/server-process.js';

const EACH_WAY = 100;
const SECONDS = 13;
const PIECE = 1000;
/** More than the system holds for a client. */
const LARGE = new RandomBytes(1).next(12 * 1024 * 1024);

void t.test('they finish, and are no burden to others', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  const client = new Client(server.url);
  t.equal((await putImage(server, 'large.img', LARGE)).status, 204);
  const contentOf = (number: number): Buffer => new RandomBytes(100 + number).next(SECONDS * PIECE);

  const upload = async (number: number): Promise<void> => {
    const connection = await RawConnection.open(server.port);
    const headers = { 'Content-Length': `${SECONDS * PIECE}` };
    connection.write(requestBytes('POST', `${IMAGES}/slow-${number}.img`, { headers }));
    for (let sent = 0; sent < SECONDS; sent++) {
      connection.write(contentOf(number).subarray(sent * PIECE, (sent + 1) * PIECE));
      await wait(1000);
    }
    t.equal((await connection.reply('POST')).status, 204);
    connection.close();
  };
  let isQuick = Promise.resolve();
  const download = async (): Promise<void> => {
    const connection = await RawConnection.open(server.port);
    const { socket } = connection;
    socket.pause();
    connection.send('GET', `${IMAGES}/large.img`);
    const seen: Buffer[] = [];
    socket.removeAllListeners('data');
    for (let second = 0; second < SECONDS; second++) {
      await wait(1000);
      const piece: unknown = socket.read(PIECE) ?? socket.read();
      if (piece instanceof Buffer) seen.push(piece);
    }
    // The rest as fast as it comes, one client after the other.
    const turn = isQuick;
    isQuick = isQuick.then(() => whole(socket, seen));
    await turn;
    await isQuick;
    connection.close();
  };
  const whole = async (socket: RawConnection['socket'], seen: readonly Buffer[]): Promise<void> => {
    const beginning = Buffer.concat(seen);
    const start = beginning.indexOf('\r\n\r\n') + 4;
    t.match(beginning.subarray(0, start).toString(), /^HTTP\/1\.1 200 /);
    let at = 0;
    const wrong: number[] = [];
    const compare = (piece: Buffer): void => {
      if (!piece.equals(LARGE.subarray(at, at + piece.length))) wrong.push(at);
      at += piece.length;
    };
    compare(beginning.subarray(start));
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (at >= LARGE.length) resolve();
      };
      socket.on('data', (piece) => {
        compare(piece);
        look();
      });
      socket.on('close', () => {
        reject(new Error(`cut off at ${at}`));
      });
      look();
      socket.resume();
    });
    t.same([wrong, at], [[], LARGE.length], 'it is whole');
  };
  let answered = 0;
  const normal = async (): Promise<void> => {
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'normal', auto_close: false });
    const files = `/v2/projects/${String(project['project_id'])}/files`;
    for (let round = 0; round < 25; round++) {
      t.equal((await client.get('/v2/version')).status, 200);
      t.equal((await client.request('POST', `${files}/${round}`, `content ${round}`)).status, 201);
      t.equal((await client.get(`${files}/${round}`)).text, `content ${round}`);
      t.equal((await client.get('/v2/projects')).status, 200);
      answered += 4;
      await wait(300);
    }
  };

  const numbers = Array.from({ length: EACH_WAY }, (_, number) => number);
  await Promise.all([...numbers.map(upload), ...numbers.map(download), normal()]);
  t.equal(answered, 100);
  const images = join(server.data, 'images');
  for (const number of numbers) {
    const file = readFileSync(join(images, 'QEMU', `slow-${number}.img`));
    if (!file.equals(contentOf(number))) t.fail(`upload ${number} differs`);
  }
  await nothingUnfinished(images);
  t.equal(server.log(), '');
});

/** A disk that takes 200 ms for every sync: all that is acknowledged is there, and what is refused is told why. */
import t from 'tap';
import { Client, type Reply } from '../../support/client.js';
import { getImage, putImage } from '../../support/image-transfers.js';
import { PacketLine } from '../../support/packet-line.js';
import { RandomBytes } from '../../support/random.js';
import { startServer } from '../../support/server-process.js';
import { strace, straceLack } from '../../support/strace.js';

const ROUNDS = 10;
const WRITERS = 4;
/** The tracer holds every thread up a little at every call. */
const allowedTurnMs = 10_000;

void t.test('everything goes on while a disk is slow', { skip: straceLack }, async (t) => {
  const server = await startServer(t, { allowedTurnMs });
  const client = new Client(server.url);
  const line = await PacketLine.make(t, { client, url: server.url });
  const slow = await strace(t, [
    ...['-f', '-o', '/dev/null', '-p', String(server.child.pid), '-e', 'trace=fdatasync,fsync'],
    ...['-e', 'inject=fdatasync,fsync:delay_enter=200000'],
  ]);
  const images = new Map<string, Buffer>();
  const nodes = new Map<string, unknown>();
  const refused: Pick<Reply, 'status' | 'text'>[] = [];
  const random = new RandomBytes(7);

  const upload = async (writer: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `image-${writer}-${round}`;
      const bytes = random.next(200_000);
      const reply = await putImage(server, name, bytes);
      if (reply.status === 204 || reply.status === 201) images.set(name, bytes);
      else refused.push(reply);
    }
  };
  const change = async (writer: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `n-${writer}-${round}`;
      const body = { name, node_type: 'ethernet_hub', compute_id: 'local', x: round };
      const made = await client.post(`${line.lab.path}/nodes`, body);
      if (made.status !== 201) {
        refused.push(made);
        continue;
      }
      const { node_id } = made.body as { node_id: string };
      nodes.set(node_id, round);
      const moved = await client.put(`${line.lab.path}/nodes/${node_id}`, { x: round + 1000 });
      if (moved.status === 200) nodes.set(node_id, round + 1000);
      else refused.push(moved);
    }
  };
  const capture = async (): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      const started = await client.post(`${line.at}/start_capture`, {});
      if (started.status !== 201) {
        refused.push(started);
        continue;
      }
      await line.pass(100);
      const stopped = await client.post(`${line.at}/stop_capture`, {});
      if (stopped.status >= 300) refused.push(stopped);
    }
  };
  const writers = Array.from({ length: WRITERS }, (_, writer) => [upload(writer), change(writer)]).flat();
  await Promise.all([...writers, capture()]);
  for (const { status, text } of refused) t.match({ status, text }, { status: 503, text: /"message": ?"\w/ });
  t.ok(images.size > 0 && nodes.size > 0, `${refused.length} are refused`);
  await slow();
  t.equal(await server.stop('SIGKILL'), 'SIGKILL');

  const next = await startServer(t, { data: server.data });
  const again = new Client(next.url);
  await again.expect(201, 'POST', `${line.lab.path}/open`);
  const listed = (await again.get(`${line.lab.path}/nodes`)).body as { node_id: string; x: number }[];
  const places = new Map(listed.map(({ node_id, x }) => [node_id, x]));
  for (const [id, x] of nodes) t.equal(places.get(id), x, 'a node');
  for (const [name, bytes] of images) t.ok((await getImage(next, name)).body.equals(bytes), name);
});

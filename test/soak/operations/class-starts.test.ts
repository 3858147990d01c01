/**
 * A class logs in and presses start at once. The program of a machine is one that waits until the test lets it go on, so that the
 * order in which the server takes the starts is seen, one by one.
 */
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { addUser, firstAdmin } from '../../support/accounts.js';
import type { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { missingQemu } from '../../support/qemu.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../../support/server-process.js';

type Json = Record<string, unknown>;

const EMULATOR = '/usr/bin/qemu-system-x86_64';
const STUDENTS = 30;
/** So many students press start on two machines. */
const WITH_TWO = 5;
/** So many starts run at once. */
const PLACES = availableParallelism() + 1;
/** So many starts of one student wait when the others come. */
const AHEAD = 4;

/** Tells the test its name, waits for a word, and then answers QEMU's control protocol as far as a start needs it. */
const program = (gate: string): string => `#!/usr/bin/python3 -IS
import json, socket, sys
words = sys.argv[1:]
if '--version' in words or '-version' in words:
    print('QEMU emulator version 7.2.0')
    sys.exit()
gate = socket.socket(socket.AF_UNIX)
gate.connect('${gate}')
gate.sendall((words[words.index('-name') + 1] + '\\n').encode())
gate.recv(1)
path = [word for word in words if word.endswith('/qmp') or '/qmp,' in word][0]
path = '/' + path.split('/', 1)[1].split(',')[0]
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen()
while True:
    control = listening.accept()[0]
    lines = control.makefile('rw')
    lines.write('{"QMP": {"version": {}, "capabilities": []}}\\n')
    lines.flush()
    for line in lines:
        asked = json.loads(line)
        listed = asked['execute'].startswith('query-')
        lines.write(json.dumps({'return': [] if listed else {}, 'id': asked['id']}) + '\\n')
        lines.flush()
`;

interface Arrival {
  readonly student: string;
  go(): void;
}

/** Where programs that start come to, in order. */
class Entrance {
  readonly #arrived: Arrival[] = [];
  #taken = 0;
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async open(t: Teardown, folder: string): Promise<Entrance> {
    const entrance = new Entrance(join(folder, 'gate'));
    const sockets = new Set<Socket>();
    const listening = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      createInterface({ input: socket }).on('line', (name) => {
        entrance.#arrived.push({ student: /s\d+/.exec(name)?.[0] ?? '', go: () => socket.end('.') });
      });
    });
    listening.listen(entrance.path);
    await once(listening, 'listening');
    // Programs have users of their own.
    chmodSync(entrance.path, 0o777);
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      listening.close();
    });
    return entrance;
  }

  get waiting(): number {
    return this.#arrived.length - this.#taken;
  }

  next(): Promise<Arrival> {
    return eventually('a program has started', () => {
      const arrival = this.#arrived[this.#taken];
      if (arrival !== undefined) this.#taken++;
      return arrival;
    });
  }
}

interface Lab {
  readonly client: Client;
  readonly path: string;
}

/** A new student, and a lab of his with so many machines, made by the admin. */
async function makeLab(admin: Client, server: ServerProcess, student: string, count: number): Promise<Lab> {
  const { client } = await addUser(admin, server, student, 'user');
  const project = { name: `exam of ${student}`, auto_close: false };
  const { project_id: id } = await admin.expect(201, 'POST', '/v2/projects', project);
  const path = `/v2/projects/${String(id)}`;
  for (let made = 0; made < count; made++)
    await admin.expect(201, 'POST', `${path}/nodes`, {
      ...{ name: `${student}-${made}`, node_type: 'qemu', compute_id: 'local', console_type: 'none' },
      properties: { ram: 32, adapters: 0 },
    });
  await admin.expect(200, 'PUT', `${path}/grants/${student}`, { grant: 'owner' });
  await admin.expect(204, 'DELETE', `${path}/grants/root`);
  return { client, path };
}

/** The first request of a student has his password checked. One that has waited too long is told to ask again. */
async function logIn({ client, path }: Lab): Promise<void> {
  await eventually('he is logged in', async () => {
    const { status, headers } = await client.get(path);
    if (status === 503) t.match(headers.get('retry-after'), /^\d+$/);
    return status === 200 || undefined;
  });
}

const skip =
  missingQemu() || (process.getuid?.() !== 0 && 'only root may put a program in the place of QEMU');

void t.test('thirty students who log in and press start at once are served in turn', { skip }, async (t) => {
  const folder = scratchFolder(t);
  chmodSync(folder, 0o755);
  const entrance = await Entrance.open(t, folder);
  const emulator = join(folder, 'emulator');
  writeFileSync(emulator, program(entrance.path), { mode: 0o755 });
  const server = await startServer(t, {
    flags: ['--kvm', 'off'],
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
    mounts: { [EMULATOR]: emulator },
  });
  const admin = await firstAdmin(server);
  const counts = Array.from({ length: STUDENTS }, (_, index) =>
    index === 0 ? PLACES + AHEAD : index <= WITH_TWO ? 2 : 1,
  );
  const labs: Lab[] = [];
  for (const [index, count] of counts.entries()) labs.push(await makeLab(admin, server, `s${index}`, count));
  await Promise.all(labs.map(logIn));
  const waiting = (count: number): Promise<unknown> =>
    eventually(`${count} starts are known`, async () => {
      const { server: used } = await admin.expect(200, 'GET', '/v2/quota');
      return (used as Record<string, { used: number }>)['running']?.used === count || undefined;
    });
  const press = ({ client, path }: Lab): Promise<Json> => client.expect(204, 'POST', `${path}/nodes/start`);

  const [first, ...others] = labs;
  if (first === undefined) throw new Error('there is no student');
  const pressed = [press(first)];
  await waiting(PLACES + AHEAD);
  await eventually('all places are taken', () => entrance.waiting === PLACES || undefined);
  pressed.push(...others.map(press));
  const all = counts.reduce((sum, count) => sum + count, 0);
  await waiting(all);
  t.equal(entrance.waiting, PLACES, 'no more start at once, whoever asks');

  const order: string[] = [];
  const begun: Arrival[] = [];
  for (let place = 0; place < PLACES; place++) begun.push(await entrance.next());
  t.strictSame([...new Set(begun.map(({ student }) => student))], ['s0']);
  for (let left = all - PLACES; left > 0; left--) {
    begun.shift()?.go();
    const arrival = await entrance.next();
    order.push(arrival.student);
    begun.push(arrival);
  }
  for (const arrival of begun) arrival.go();
  await Promise.all(pressed);

  const everybody = labs.map((_, index) => `s${index}`);
  t.strictSame(order.slice(0, STUDENTS).sort(), [...everybody].sort(), 'in the first round each gets one');
  const withTwo = everybody.slice(0, WITH_TWO + 1);
  t.strictSame(order.slice(STUDENTS, STUDENTS + WITH_TWO + 1).sort(), withTwo, 'then those who have another');
  t.strictSame([...new Set(order.slice(STUDENTS + WITH_TWO + 1))], ['s0'], 'who asked for most ends last');
  const nodes = await Promise.all(labs.map(async ({ client, path }) => client.get(`${path}/nodes`)));
  const states = nodes.flatMap(({ body }) => (body as Json[]).map(({ status }) => status));
  t.strictSame(
    states,
    Array.from({ length: all }, () => 'started'),
  );
});

/** Programs that are confined try to get at the server and at each other. They need the rights of the superuser. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { TaskPool } from '../../../src/base/threads/task-pool.js';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import type { ComputeFiles } from '../../../src/run/files.js';
import { Keeper, type Program, type ProgramOrder } from '../../../src/run/keeper/keeper.js';
import { Confinement } from '../../../src/run/nodes/confinement.js';
import { confinementTasks } from '../../../src/run/nodes/confinement-tasks.js';
import type { NamespaceTasks } from '../../../src/run/nodes/namespace-tasks.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';
import { contentOf, newRig, nothingLeft, printed, shell, textOf, keeperOf } from './keeper-rig.js';

const skip = process.getuid?.() === 0 ? false : 'only the superuser can confine programs';

/** A data folder with a store, an image, and the folders of two nodes; and a keeper in it. */
class Place {
  readonly data: string;
  readonly keeper: Keeper;
  readonly mark: string;
  readonly confinement: Confinement;
  readonly image: string;

  constructor(t: Test, isWanted = true) {
    this.data = scratchFolder(t);
    this.image = join(this.data, 'images', 'router.bin');
    for (const folder of ['state', 'images/other', 'projects/lab/first', 'projects/lab/second', 'run'])
      mkdirSync(join(this.data, folder), { recursive: true, mode: 0o700 });
    for (const folder of ['', 'projects', 'projects/lab', 'images'])
      chmodSync(join(this.data, folder), 0o700);
    writeFileSync(join(this.data, 'state', 'store'), 'secret', { mode: 0o666 });
    writeFileSync(this.image, 'firmware', { mode: 0o600 });
    writeFileSync(this.file('first', 'startup'), 'mine', { mode: 0o600 });
    writeFileSync(this.file('second', 'startup'), 'theirs', { mode: 0o666 });
    const worker = new URL('../../../workers/namespace-worker.js', import.meta.url);
    const namespaces = new TaskPool<NamespaceTasks>({ worker, threads: 1, queueLimit: 100 });
    t.teardown(() => namespaces.close());
    const rig = newRig(t);
    this.mark = rig.mark;
    this.confinement = new Confinement({
      isWanted,
      mark: rig.mark,
      serverFolders: [this.data, join(this.data, 'elsewhere')],
      files: {
        run: (_, input) => Promise.resolve(confinementTasks.prepareView(input)),
      } as ComputeFiles,
      namespaces: namespaces,
      log: pino({ level: 'silent' }),
    });
    this.keeper = new Keeper({
      folder: join(this.data, 'run'),
      mark: rig.mark,
      graceSeconds: 0,
      confine: (order) => this.confinement.ofOrder(order),
      log: pino({ level: 'silent' }),
      onLost: () => undefined,
    });
    t.teardown(() => this.keeper.close());
  }

  file(node: string, name: string): string {
    return join(this.data, 'projects/lab', node, name);
  }

  /** A program of a node, in the folder of the node. */
  run(node: string, script: string, changes: Partial<ProgramOrder> = {}): Promise<Program> {
    const folder = this.file(node, '.').replace(/\/\.$/, '');
    const confinement = { writable: [folder], readable: [this.image] };
    return this.keeper.spawn(shell(node, script, { folder, confinement, console: 'pipes', ...changes }));
  }

  /** The lines that the program prints. */
  async lines(node: string, script: string, changes: Partial<ProgramOrder> = {}): Promise<string[]> {
    const program = await this.run(node, script, changes);
    await program.ended;
    return textOf(program).trim().split('\n');
  }
}

void t.test('a confined program has a user of its own and no rights', { skip }, async (t) => {
  const place = new Place(t);
  const script =
    'id -u; id -g; id -G; grep -E "^(Cap[^B]|NoNewPrivs)" /proc/self/status; cat /proc/self/oom_score_adj';
  const [user, ...lines] = await place.lines('first', script, { niceness: -5 });
  t.equal(user, String(place.confinement.userOf('first/helper')));
  t.ok(Number(user) >= 0x7000_0000);
  t.not(user, String(place.confinement.userOf('second')));
  t.same(lines, [
    ...[user, user],
    ...['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map((name) => `${name}:\t0000000000000000`),
    ...['NoNewPrivs:\t1', '500'],
  ]);
});

void t.test('a file with capabilities gives them to no confined program', { skip }, async (t) => {
  const place = new Place(t);
  const file = join(place.data, 'images', 'program');
  copyFileSync('/bin/grep', file);
  // All capabilities, permitted and effective.
  const set = 'import os, sys; os.setxattr(sys.argv[1], "security.capability", bytes.fromhex(sys.argv[2]))';
  execFileSync('python3', ['-c', set, file, '01000002ffffffff00000000ff00000000000000']);
  const confinement = { writable: [place.file('first', '.')], readable: [file] };
  const lines = await place.lines('first', `${file} -E "^Cap(Prm|Eff)" /proc/self/status`, { confinement });
  t.same(
    lines,
    ['CapPrm', 'CapEff'].map((name) => `${name}:\t0000000000000000`),
  );
});

void t.test(
  'a confined program has a controlling terminal, its priority and a working folder',
  { skip },
  async (t) => {
    const place = new Place(t);
    const script = 'echo direct >/dev/tty; stty size; nice; pwd';
    const lines = await place.lines('first', script, { console: 'terminal', niceness: -5 });
    t.same(lines, ['direct\r', '24 80\r', '-5\r', place.file('first', '').replace(/\/$/, '')]);
  },
);

void t.test(
  'a confined program sees of the folders of the server only what its order names',
  { skip },
  async (t) => {
    const place = new Place(t);
    const { data } = place;
    const lines = await place.lines(
      'first',
      `cat startup; echo; cat ${place.image}; echo
    echo written >new && cat new
    ls ${data}; ls ${data}/projects/lab; ls ${data}/images
    cat ${data}/state/store; cat ${place.file('second', 'startup')}
    echo x >${place.image}; echo x >${data}/planted; echo x >${data}/projects/lab/planted
    ls ${data}/run`,
    );
    t.same(lines.slice(0, 7), ['mine', 'firmware', 'written', 'images', 'projects', 'first', 'router.bin']);
    const refusals = lines.slice(7);
    t.equal(refusals.length, 6, refusals.join('\n'));
    for (const line of refusals) t.match(line, /No such file|Permission denied|Read-only|nonexistent|cannot/);
    t.equal(readFileSync(place.file('first', 'new'), 'utf8'), 'written\n');
    t.equal(readFileSync(place.image, 'utf8'), 'firmware');
    t.same(
      readdirSync(data).sort(),
      ['images', 'projects', 'run', 'state'],
      'nothing is hidden from the server',
    );
  },
);

void t.test('a link in the folder of a node gives nothing away', { skip }, async (t) => {
  const place = new Place(t);
  const outside = join(scratchFolder(t), 'outside');
  writeFileSync(outside, 'text');
  symlinkSync(outside, place.file('first', 'file'));
  symlinkSync(join(place.data, 'state'), place.file('first', 'folder'));
  await place.lines('first', 'true');
  t.equal(statSync(outside).uid, 0);
  t.equal(statSync(join(place.data, 'state', 'store')).uid, 0);
});

/** Prints what comes of each attempt. */
const TRIES = `
import os, socket, sys
def attempt(name, act):
    try: act(); print(name, 'done')
    except OSError as error: print(name, error.strerror)
def connect(port): socket.create_connection(('127.0.0.1', port), 2)
def unix(path): socket.socket(socket.AF_UNIX).connect(path)
for at in range(1, len(sys.argv), 2):
    what, value = sys.argv[at], sys.argv[at + 1]
    attempt(what, {'tcp': lambda: connect(int(value)), 'unix': lambda: unix(value), 'send': lambda: connect_udp(value),
        'signal': lambda: os.kill(int(value), 0), 'root': lambda: os.listdir('/proc/' + value + '/root'),
        'memory': lambda: open('/proc/' + value + '/mem')}[what])
`;

void t.test(
  'a confined program reaches neither the server nor the keeper nor its neighbours',
  { skip },
  async (t) => {
    const place = new Place(t);
    const api = createServer((sink) => sink.destroy()).listen(0, '127.0.0.1');
    t.teardown(() => api.close());
    await once(api, 'listening');
    const other = await place.run('second', 'echo ready; sleep 1000');
    await printed(other, 'ready');
    const network = await place.confinement.openNetwork([]);
    t.teardown(() => network?.close());
    const [server, neighbour, keeper] = [process.pid, other.pid, keeperOf(place.mark) ?? 0].map(String);
    const tries = [
      ...['tcp', String((api.address() as AddressInfo).port)],
      ...['unix', join(place.data, 'run/keeper.sock')],
      ...[server, neighbour, keeper].flatMap((pid) => ['signal', pid, 'root', pid, 'memory', pid]),
    ].map(String);
    const order = { command: 'python3', args: ['-c', TRIES, ...tries] };
    const confinement = { writable: [], readable: [], network: network?.path };
    const lines = await place.lines('first', '', { ...order, folder: '/', confinement });
    t.same(lines, [
      'tcp Connection refused',
      'unix No such file or directory',
      ...[1, 2, 3].flatMap(() => [
        'signal Operation not permitted',
        'root Permission denied',
        'memory Permission denied',
      ]),
    ]);
  },
);

void t.test(
  'the sockets of the engine are in the network of the node, and the network ends with them',
  { skip },
  async (t) => {
    const place = new Place(t);
    const { opener } = await hostSockets(process.platform);
    const wires = [{ enginePort: 20_001, programPort: 20_002 }];
    const [first, second] = await Promise.all([1, 2].map(() => place.confinement.openNetwork(wires)));
    if (first === undefined || second === undefined) throw new Error('there is no network');
    const network = readlinkSync(first.path);
    t.not(network, readlinkSync('/proc/self/ns/net'));
    t.not(network, readlinkSync(second.path), 'two nodes may have the same ports');
    const confinement = { writable: [], readable: [], network: first.path };
    const script = 'readlink /proc/self/ns/net; grep -c : /proc/net/dev; grep -o 0100007F:4E21 /proc/net/udp';
    t.same(await place.lines('first', script, { confinement, folder: '/' }), [network, '1', '0100007F:4E21']);
    for (const { close, endpoints } of [first, second]) {
      for (const endpoint of endpoints) opener.close(endpoint);
      close();
    }
    await eventually(
      'no descriptor is open',
      () => !readdirSync('/proc/self/fd').some(leadsTo(network)) || undefined,
    );
    t.not(readlinkSync('/proc/self/ns/net'), network);
  },
);

function leadsTo(target: string): (fd: string) => boolean {
  return (fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === target;
    } catch {
      return false;
    }
  };
}

void t.test('processes without bound end where the limit is, and the keeper goes on', { skip }, async (t) => {
  const place = new Place(t);
  const script = 'i=0; while [ $i -lt 3000 ]; do sleep 1000 & i=$((i+1)); done; echo all';
  const program = await place.run('first', script);
  t.not((await program.ended).code, 0);
  t.match(textOf(program), /fork|Resource temporarily unavailable/i);
  t.same(await place.lines('second', 'echo still here'), ['still here']);
});

void t.test('a process that drops its mark is found by its mounts', { skip }, async (t) => {
  const place = new Place(t);
  const script = 'setsid env -i sh -c "echo \\$\\$ >child; exec sleep 1000" & until [ -s child ]; do :; done';
  await place.lines('first', script);
  const child = Number(readFileSync(place.file('first', 'child'), 'utf8'));
  t.ok(child > 0);
  await eventually('it has gone', () => contentOf(child, 'stat') === '' || undefined);
});

void t.test('a keeper that is killed leaves no program and no mount', { skip }, async (t) => {
  const place = new Place(t);
  const program = await place.run('first', 'sleep 1000');
  process.kill(keeperOf(place.mark) ?? 0, 'SIGKILL');
  await program.ended;
  await eventually('it has gone', () => contentOf(program.pid, 'stat') === '' || undefined);
  await place.keeper.close();
  await nothingLeft(place.mark);
  t.notMatch(readFileSync('/proc/self/mountinfo', 'utf8'), place.mark);
});

void t.test('confinement that is switched off leaves programs as they were', { skip }, async (t) => {
  const place = new Place(t, false);
  t.equal(await place.confinement.problem(), 'it is switched off');
  t.equal(await place.confinement.openNetwork([]), undefined);
  t.same(await place.lines('first', 'id -u'), ['0']);
});

/** Everything that runs nodes keeps one contract: switches, and programs. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { Intake } from '../../../src/base/intake.js';
import type { BpfCompiler } from '../../../src/engine/bpf/bpf-compiler.js';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import { Channel } from '../../../src/base/streams/channel.js';
import { ConsolePorts } from '../../../src/lab/console-ports.js';
import type { SwitchKind } from '../../../src/lab/kinds/node-kind.js';
import { SWITCH_KINDS } from '../../../src/lab/kinds/node-kinds.js';
import type { ComputeFiles } from '../../../src/run/files.js';
import { LinkEnds } from '../../../src/run/links/link-ends.js';
import { NioSockets } from '../../../src/run/links/nio-sockets.js';
import { UdpPorts } from '../../../src/run/links/udp-ports.js';
import { ProjectRoom } from '../../../src/run/project-room.js';
import { RunningNodes } from '../../../src/run/running-nodes.js';
import { KeptPrograms } from '../../../src/run/nodes/kept-programs.js';
import { FilterPlans } from '../../../src/run/nodes/filter-plans.js';
import { Programs } from '../../../src/run/nodes/programs.js';
import { NatWays } from '../../../src/run/nodes/nat/nat-ways.js';
import { SavedStates } from '../../../src/run/saved-states.js';
import { SwitchNode } from '../../../src/run/nodes/switch-node.js';
import { eventually } from '../../support/eventually.js';
import { FakeStore } from '../../support/fake-store.js';
import { LiveEngine } from '../../support/live-engine.js';
import { ProgramRig } from '../../support/program-rig.js';
import { idOf } from '../../support/stored-objects.js';
import { nodeRuntimeContract } from './node-runtime.contract.js';
import { NO_QUOTAS } from '../../support/no-quotas.js';
import { udpReach } from '../../support/udp-reach.js';

const sockets = await hostSockets(process.platform);
const engine = new LiveEngine(t, sockets);
const programs = new ProgramRig(t, sockets, engine);

async function switchOf(t: Test, kind: SwitchKind): Promise<SwitchNode> {
  const files: ComputeFiles = { run: () => Promise.reject(new Error('no file is needed')) };
  const compiler: Pick<BpfCompiler, 'compile'> = {
    compile: () => Promise.reject(new Error('there are no expressions')),
  };
  const home = { id: idOf(1), name: 'lab', folder: '/nowhere' };
  const udpPorts = new UdpPorts([20_000, 20_009], () => Promise.resolve(true));
  const wanted = { node_id: idOf(2), name: 'S1', properties: {} };
  const node = new SwitchNode(home, kind, wanted, {
    channel: new Channel(),
    consolePorts: new ConsolePorts([5000, 10_000]),
    udpPorts,
    sockets: new NioSockets({ opener: sockets.opener, files, reach: udpReach(), interfaces: new Set() }),
    linkEnds: new LinkEnds(),
    filterPlans: new FilterPlans(compiler as BpfCompiler),
    refusesBadHec: false,
    log: pino({ level: 'silent' }),
    newDevice: () => engine.newDevice(),
    files,
    archives: { run: () => Promise.reject(new Error('no folder is copied')) },
    programs: new Programs({ quotas: NO_QUOTAS, runners: [], mayBeUnconfined: true }),
    kept: new KeptPrograms(udpPorts),
    room: new ProjectRoom({
      ...{ files, quotas: NO_QUOTAS, folder: '/', known: () => [], floor: () => 0 },
      ...{ warn: () => undefined, remember: () => undefined },
    }),
    running: new RunningNodes({ store: new FakeStore(), log: pino({ level: 'silent' }), now: () => 0 }),
    savedStates: new SavedStates(new FakeStore()),
    nat: new NatWays({ keeper: programs.keeper, files, interfaces: new Set() }),
    consoles: { host: '127.0.0.1', serves: () => true },
    nodeChanged: () => undefined,
    intake: new Intake(),
    remember: () => undefined,
    used: () => undefined,
    report: () => undefined,
  });
  await node.install();
  t.teardown(() => node.remove('removed'));
  return node;
}

for (const kind of SWITCH_KINDS) {
  void t.test(kind.title, (t) => {
    nodeRuntimeContract(t, { alwaysRuns: true, canBeSuspended: false, ports: [0, 1] }, (t) =>
      switchOf(t, kind),
    );
    t.end();
  });
}

void t.test('a program', (t) => {
  const facts = { alwaysRuns: false, canBeSuspended: true, ports: [1, 3] } as const;
  nodeRuntimeContract(t, facts, (t) => programs.node(t, 'cat'));
  t.end();
});

void t.test('a program that ends by itself is stopped, and can be started again', async (t) => {
  const node = await programs.node(t, 'sh', '-c', 'echo ready; read line; echo farewell; exit 3');
  programs.reports.length = 0;
  await node.start();
  t.equal(node.status, 'started');
  node.console.write(Buffer.from('\n'));
  await eventually('the program has ended', () => node.status === 'stopped' || undefined);
  t.same(programs.reports, ['P1 ended: status 3\nready\nfarewell']);
  t.match(Buffer.from(node.console.scrollback).toString(), /farewell/, 'its last words can be read');
  await node.start();
  t.equal(node.status, 'started');
  node.console.write(Buffer.from('\n'));
  await node.stop();
  await node.suspend();
  t.equal(node.status, 'stopped');
});

void t.test(
  'a program that cannot be started is refused and stays stopped, with its last words',
  async (t) => {
    const missing = await programs.node(t, '/nowhere/program');
    await t.rejects(missing.start());
    t.equal(missing.status, 'stopped');
    const short = await programs.node(t, 'sh', '-c', 'echo no licence; exit 1');
    const changes = programs.changes;
    await t.rejects(short.start(), { status: 409, message: 'P1 could not be started: status 1\nno licence' });
    t.equal(short.status, 'stopped');
    t.equal(programs.changes, changes, 'nobody was told of a change');
    await t.rejects(short.start(), { code: 'node_not_started' });
  },
);

void t.test('the console carries any bytes both ways, over restarts, until nobody listens', async (t) => {
  const node = await programs.node(t, 'cat');
  const heard: Uint8Array[] = [];
  const arrived = (bytes: Buffer): Promise<true> =>
    eventually<true>('the bytes are printed', () => Buffer.concat(heard).equals(bytes) || undefined);
  const unlisten = node.console.listen((bytes) => heard.push(bytes));
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
  await node.start();
  node.console.write(bytes);
  await arrived(bytes);
  await node.reload();
  node.console.write(bytes);
  await arrived(Buffer.concat([bytes, bytes]));
  unlisten();
  const other = new Promise((resolve) => node.console.listen(resolve));
  node.console.write(Buffer.of(7));
  t.same(Buffer.from((await other) as Uint8Array), Buffer.of(7));
  t.equal(Buffer.concat(heard).length, 512);
});

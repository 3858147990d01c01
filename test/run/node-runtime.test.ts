/** What runs nodes: switches, and programs as the kinds to come will be. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { BpfCompiler } from '../../src/engine/bpf/bpf-compiler.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { Channel } from '../../src/base/streams/channel.js';
import { ConsolePorts } from '../../src/lab/console-ports.js';
import type { SwitchKind } from '../../src/lab/kinds/node-kind.js';
import { SWITCH_KINDS } from '../../src/lab/kinds/node-kinds.js';
import type { ComputeFiles } from '../../src/run/files.js';
import { NioSockets } from '../../src/run/links/nio-sockets.js';
import { UdpPorts } from '../../src/run/links/udp-ports.js';
import { FilterPlans } from '../../src/run/switches/filter-plans.js';
import { SwitchNode } from '../../src/run/switches/switch-node.js';
import { eventually } from '../support/eventually.js';
import { LiveEngine } from '../support/live-engine.js';
import { ProgramNode } from '../support/program-node.js';
import { idOf } from '../support/stored-objects.js';
import { nodeRuntimeContract } from './node-runtime.contract.js';

const sockets = await hostSockets(process.platform);
const engine = new LiveEngine(t, sockets);

async function switchOf(t: Test, kind: SwitchKind): Promise<SwitchNode> {
  const files: ComputeFiles = { run: () => Promise.reject(new Error('no file is needed')) };
  const compiler: Pick<BpfCompiler, 'compile'> = {
    compile: () => Promise.reject(new Error('there are no expressions')),
  };
  const home = { id: idOf(1), name: 'lab', folder: '/nowhere' };
  const wanted = { node_id: idOf(2), name: 'S1', properties: {} };
  const node = new SwitchNode(home, kind, wanted, {
    channel: new Channel(),
    consolePorts: new ConsolePorts(),
    udpPorts: new UdpPorts([20_000, 20_009], () => Promise.resolve(true)),
    sockets: new NioSockets({ opener: sockets.opener, files, networks: undefined, interfaces: new Set() }),
    filterPlans: new FilterPlans(compiler as BpfCompiler),
    refusesBadHec: false,
    log: pino({ level: 'silent' }),
    newDevice: () => engine.newDevice(),
  });
  await node.install();
  t.teardown(() => node.remove());
  return node;
}

for (const kind of SWITCH_KINDS) {
  void t.test(kind.title, (t) => {
    nodeRuntimeContract(t, { alwaysRuns: true, canBeSuspended: false }, (t) => switchOf(t, kind));
    t.end();
  });
}

void t.test('a program', (t) => {
  nodeRuntimeContract(t, { alwaysRuns: false, canBeSuspended: true }, (t) =>
    Promise.resolve(new ProgramNode(t, 'cat')),
  );
  t.end();
});

void t.test('a program that ends by itself is stopped, and can be started again', async (t) => {
  const node = new ProgramNode(t, 'sh', '-c', 'read line');
  await node.start();
  t.equal(node.status, 'started');
  node.console.write(Buffer.from('\n'));
  await eventually('the program has ended', () => node.status === 'stopped' || undefined);
  await node.start();
  t.equal(node.status, 'started');
  process.kill(node.processId ?? 0, 'SIGKILL');
  await eventually('the program was killed', () => node.status === 'stopped' || undefined);
  await node.stop();
  await node.suspend();
  t.equal(node.status, 'stopped');
});

void t.test('a program that cannot be started is refused and stays stopped', async (t) => {
  const node = new ProgramNode(t, '/nowhere/program');
  await t.rejects(node.start(), { code: 'ENOENT' });
  t.equal(node.status, 'stopped');
});

void t.test('the console carries any bytes both ways, over restarts, until nobody listens', async (t) => {
  const node = new ProgramNode(t, 'cat');
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
  t.same(await other, Buffer.of(7));
  t.equal(Buffer.concat(heard).length, 512);
});

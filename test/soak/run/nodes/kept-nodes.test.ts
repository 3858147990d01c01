/** Programs of nodes while the server ends and comes back, with real servers and virtual PCs. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, programsOf, type Json } from '../../../support/node-lab.js';
import {
  manyUdpPorts,
  ownConsolePorts,
  startServer,
  type ServerProcess,
} from '../../../support/server-process.js';
import { scratchFolder } from '../../../support/scratch.js';
import { missingVpcs } from '../../../support/vpcs.js';

const skip = missingVpcs();
const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(), WIREFARM_UDP_PORTS: manyUdpPorts() };
const KEEPS = ['--keep-nodes', '60'];

interface Rig {
  readonly lab: NodeLab;
  readonly server: ServerProcess;
  readonly pcs: readonly [Json, Json];
  /** Ends the server, and starts the next one with its data. */
  next(signal: NodeJS.Signals): Promise<Rig>;
}

async function on(t: Test, data: string, flags: readonly string[], before?: Rig): Promise<Rig> {
  const server = await startServer(t, { data, flags, environment });
  const lab = before === undefined ? await NodeLab.left('kept', server) : new NodeLab(server, before.lab.id);
  const pcs = before?.pcs ?? ([await lab.pc('PC1', '10.0.0.1'), await lab.pc('PC2', '10.0.0.2')] as const);
  if (before === undefined) await lab.link([pcs[0], 0], [pcs[1], 0]);
  const rig: Rig = {
    ...{ lab, server, pcs },
    next: async (signal) => {
      await server.stop(signal);
      return on(t, data, flags, rig);
    },
  };
  return rig;
}

async function isStarted({ lab, pcs: [first, second] }: Rig): Promise<true | undefined> {
  const shown = [await lab.show(first).catch(() => undefined), await lab.show(second).catch(() => undefined)];
  return shown.every((node) => node?.['status'] === 'started') || undefined;
}

async function pings(t: Test, { lab, pcs: [first] }: Rig): Promise<void> {
  const terminal = await lab.console(t, first);
  terminal.type('ping 10.0.0.2 -c 1');
  t.match(await terminal.until(/(?:ttl=|reachable)[^]*PC1> $/), /ttl=/, 'its neighbour answers');
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  void t.test(`programs live on and are taken over after ${signal}`, { skip }, async (t) => {
    const first = await on(t, scratchFolder(t), KEEPS);
    await pings(t, first);
    const [pc] = first.pcs;
    const terminal = await first.lab.console(t, pc);
    terminal.type('echo remember this');
    await terminal.until(/remember this[^]*PC1> $/);
    const programs = first.pcs.map(programsOf);
    const shown = await first.lab.show(pc);

    const next = await first.next(signal);
    await eventually('the nodes are taken over', () => isStarted(next));
    t.same(next.pcs.map(programsOf), programs, 'the same programs');
    t.match(await next.lab.show(pc), {
      command_line: shown['command_line'],
      console: shown['console'],
    });
    const joined = await next.lab.console(t, pc);
    t.match(await joined.until(/PC1> $/), /remember this/, 'the scrollback is there');
    await pings(t, next);

    t.match(await next.lab.act(pc, 'stop'), { status: 'stopped' });
    t.same(programsOf(pc), []);
    t.match(await next.lab.act(pc, 'start'), { status: 'started' });
    await pings(t, next);
  });
}

void t.test('kept programs of a project that is not there any more end', { skip }, async (t) => {
  const data = scratchFolder(t);
  const first = await on(t, data, KEEPS);
  const [pc] = first.pcs;
  await first.server.stop('SIGKILL');
  t.not(programsOf(pc).length, 0);
  rmSync(join(data, 'projects'), { recursive: true });
  const plain = await startServer(t, { data, flags: KEEPS, environment });
  await eventually('the programs have ended', () => first.pcs.flatMap(programsOf).length === 0 || undefined);
  await plain.stop();
});

void t.test(
  'nodes run again after the death of the server, but not after two in a row',
  { skip },
  async (t) => {
    const first = await on(t, scratchFolder(t), []);
    const [stopped, running] = first.pcs;
    t.match(await first.lab.act(stopped, 'stop'), { status: 'stopped' });
    const programs = programsOf(running);
    const statuses = async ({ lab, pcs }: Rig): Promise<unknown[]> => [
      (await lab.show(pcs[0]))['status'],
      (await lab.show(pcs[1]))['status'],
    ];

    const ended = await first.next('SIGTERM');
    const isUp = async (rig: Rig): Promise<true | undefined> =>
      (await statuses(rig).catch(() => [])).join() === 'stopped,started' || undefined;
    await eventually('the node runs again after the end of the server', () => isUp(ended));
    t.notSame(programsOf(running), programs);

    const died = await ended.next('SIGKILL');
    await eventually('the node runs again after the death of the server', () => isUp(died));

    const again = await died.next('SIGKILL');
    await eventually('the project is open', () => statuses(again).catch(() => undefined));
    await again.server.logged(/died more than once/);
    t.same(await statuses(again), ['stopped', 'stopped']);
    t.match(await again.lab.act(running, 'start'), { status: 'started' }, 'it can be started by hand');
  },
);

/** Programs of QEMU, Dynamips and IOU while the server ends and comes back, with real servers. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../../../support/eventually.js';
import { buildIouImage, missingCompiler } from '../../../support/iou-image.js';
import { NodeLab, programsOf, type Json } from '../../../support/node-lab.js';
import type { NodeTerminal } from '../../../support/node-terminal.js';
import { missingQemu } from '../../../support/qemu.js';
import { hypervisorOf } from '../../../support/router-hypervisor.js';
import { missingDynamips, routerImage } from '../../../support/router-image.js';
import { scratchFolder } from '../../../support/scratch.js';
import { seededRandom } from '../../../support/seeded-random.js';
import {
  manyUdpPorts,
  ownConsolePorts,
  startServer,
  type ServerProcess,
} from '../../../support/server-process.js';

const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(), WIREFARM_UDP_PORTS: manyUdpPorts() };
const KEEPS = ['--keep-nodes', '60', '--kvm', 'off'];
/** The firmware of the machine says at the serial port what it does, and asks at its adapter for an address. */
const ASKING = { options: '-machine graphics=off -boot n', ram: 32, adapters: 2 };
const ROUTER = {
  ...{ platform: 'c3600', image: 'echo.image', ram: 64, idlepc: '0x8000802c' },
  ...{ slot0: 'NM-1FE-TX', slot1: 'NM-4T' },
};
const SEED = 14;
const MOMENTS = 3;
const LATEST_MS = 700;
const LICENSE = '[license]\nhost = 0123456789abcdef;';

/** A data folder with the images of routers. */
function dataFolder(t: Test): string {
  const data = scratchFolder(t);
  mkdirSync(join(data, 'images', 'IOS'), { recursive: true });
  writeFileSync(join(data, 'images', 'IOS', 'echo.image'), routerImage('router is up\r\n'));
  if (missingCompiler() === false) buildIouImage(t, join(data, 'images', 'IOU', 'double.bin'));
  return data;
}

/** A server in its data folder, and the one that comes after it. */
class Life {
  readonly server: ServerProcess;
  readonly lab: NodeLab;
  readonly #t: Test;

  static async first(t: Test, flags: readonly string[] = KEEPS): Promise<Life> {
    const server = await startServer(t, { data: dataFolder(t), flags, environment });
    const lab = await NodeLab.left('kept', server);
    await lab.client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: LICENSE });
    return new Life(t, server, lab);
  }

  private constructor(t: Test, server: ServerProcess, lab: NodeLab) {
    this.#t = t;
    this.server = server;
    this.lab = lab;
  }

  async next(signal: NodeJS.Signals, flags: readonly string[] = KEEPS): Promise<Life> {
    await this.server.stop(signal);
    const { data } = this.server;
    const server = await startServer(this.#t, { data, flags, environment });
    return new Life(this.#t, server, new NodeLab(server, this.lab.id));
  }

  /** Resolves when the project is open. */
  async knows(node: Json): Promise<void> {
    await eventually('the node is there', () => this.lab.show(node).catch(() => undefined));
  }

  async has(node: Json, status: string): Promise<void> {
    await eventually(`${String(node['name'])} is ${status}`, async () => {
      const shown = await this.lab.show(node).catch(() => undefined);
      return shown?.['status'] === status || undefined;
    });
  }

  /** Refuses programs that were started again. */
  async hasTakenOver(t: Test, node: Json, programs: readonly number[], status = 'started'): Promise<void> {
    await this.has(node, status);
    t.same(programsOf(node), programs, `${String(node['name'])} has the same programs`);
  }
}

/** Asks again and again, as people do: the first frames may be lost. */
async function ping(from: NodeTerminal, port: string, address: string): Promise<void> {
  let hasAnswer = false;
  const answer = from.until(new RegExp(`answer from ${address.replaceAll('.', '\\.')}`)).then(() => {
    hasAnswer = true;
  });
  await eventually('an answer', () => {
    if (!hasAnswer) from.type(`ping ${port} ${address}`);
    return hasAnswer || undefined;
  });
  await answer;
}

/** A part of a lab: it starts nodes with the first server, and returns what it expects of the next one. */
type Part = (t: Test, first: Life) => Promise<(next: Life) => Promise<void>>;

async function machines(t: Test, first: Life) {
  const machine = await first.lab.node('qemu', 'Q1', {
    ...{ ...ASKING, tpm: true, cpu_throttling: 50 },
    // The machine at the far end is suspended.
    replicate_network_connection_state: false,
  });
  const paused = await first.lab.node('qemu', 'Q2', { ram: 32, adapters: 2 });
  const link = await first.lab.link([machine, 0, 0], [paused, 0, 0]);
  await first.lab.act(machine, 'start');
  await (await first.lab.console(t, machine)).until(/SeaBIOS/);
  await first.lab.act(paused, 'start');
  await first.lab.act(paused, 'suspend');
  await first.lab.change(paused, { properties: { ram: 48 } });
  const programs = [machine, paused].map(programsOf);
  t.equal(programs[0]?.length, 3, 'a TPM and a limiter are beside the machine');
  const shown = await first.lab.show(machine);

  return async (next: Life): Promise<void> => {
    const { lab, server } = next;
    await next.hasTakenOver(t, machine, programs[0] ?? []);
    await next.hasTakenOver(t, paused, programs[1] ?? [], 'suspended');
    t.match(await lab.show(machine), { command_line: shown['command_line'], console: shown['console'] });
    const terminal = await lab.console(t, machine);
    await terminal.until(/SeaBIOS/);
    const capture = await lab.client.expect(201, 'POST', `${lab.linkAt(link)}/start_capture`, {});
    await lab.act(machine, 'reload');
    await terminal.until(/SeaBIOS/);
    const file = String(capture['capture_file_path']);
    await eventually('the machine is heard on its link', () => readFileSync(file).length > 24 || undefined);
    await lab.client.expect(204, 'DELETE', lab.linkAt(link));
    await lab.act(machine, 'suspend');
    await lab.act(machine, 'start');
    t.same(programsOf(machine), programs[0]);
    await lab.act(paused, 'start');
    await lab.act(paused, 'reload');
    t.match(await lab.show(paused), { command_line: / -m 48M / }, 'it knows that its settings have changed');
    t.match(await lab.act(machine, 'stop'), { status: 'stopped' });
    t.same(programsOf(machine), []);
    await lab.client.expect(204, 'DELETE', lab.at(paused));
    t.same(programsOf(paused), []);
    t.same(readdirSync(join(server.data, 'run', 'n')), [], 'no folder of sockets is left');
    t.match(await lab.act(machine, 'start'), { status: 'started' });
    await lab.client.expect(204, 'DELETE', lab.at(machine));
    t.same(programsOf(machine), []);
  };
}

const LINE = 10;

/** Lines that differ from each other. */
function linesOf(first: number, count: number): string {
  return Array.from(
    { length: count },
    (_, index) => `line ${String(first + index).padStart(LINE - 6)}\r`,
  ).join('');
}

async function routers(t: Test, first: Life) {
  const router = await first.lab.node('dynamips', 'R1', { ...ROUTER, auto_delete_disks: true });
  const paused = await first.lab.node('dynamips', 'R2', ROUTER);
  const serial = await first.lab.link([router, 1, 2], [paused, 1, 3]);
  await first.lab.act(router, 'start');
  const screen = await first.lab.console(t, router);
  await screen.until(/router is up/);
  const lines = Array.from({ length: 6 }, (_, part) => linesOf(100 * part, 100));
  for (const part of lines) {
    screen.press(part);
    await screen.until(new RegExp(part.slice(-LINE)));
  }
  await first.lab.act(paused, 'start');
  await first.lab.act(paused, 'suspend');
  const programs = [router, paused].map(programsOf);

  return async (next: Life): Promise<void> => {
    const { lab } = next;
    await next.hasTakenOver(t, router, programs[0] ?? []);
    await next.hasTakenOver(t, paused, programs[1] ?? [], 'suspended');
    const console = await lab.console(t, router, '\r');
    const scrollback = await console.until(new RegExp(lines.at(-1)?.slice(-LINE) ?? ''));
    t.match(scrollback, /router is up\r\n/);
    t.equal(scrollback.split('router is up\r\n')[1], lines.join(''), 'each line is there once');
    console.press('one');
    await console.until(/one/);
    const hypervisor = hypervisorOf(t, await lab.show(router));
    const niosOf = async (): Promise<string> => (await hypervisor.ask('nio list')).slice(0, -1).join();
    await eventually('the serial link is made again', async () => (await niosOf()) === 'n66' || undefined);
    await lab.link([router, 0, 0], [paused, 0, 0]);
    t.same((await niosOf()).split(',').toSorted(), ['n0', 'n66']);
    await lab.client.expect(204, 'DELETE', lab.linkAt(serial));
    t.equal(await niosOf(), 'n0');
    const config = 'hostname R1\r\n! changed\r\nend\r\n';
    await hypervisor.ask('vm push_config', ['R1', Buffer.from(config).toString('base64')]);
    t.match(await lab.act(router, 'stop'), { status: 'stopped' });
    const file = join(String(router['node_directory']), 'configs', 'i1_startup-config.cfg');
    t.equal(readFileSync(file, 'latin1'), config, 'its configuration is kept');
    t.same(programsOf(router), []);
    await lab.act(paused, 'start');
    await lab.client.expect(204, 'DELETE', lab.at(paused));
    t.same(programsOf(paused), []);
  };
}

async function images(t: Test, first: Life) {
  const one = await first.lab.node('iou', 'I1', { path: 'double.bin' });
  const other = await first.lab.node('iou', 'I2', { path: 'double.bin' });
  const link = await first.lab.link([one, 0, 0], [other, 0, 1]);
  for (const router of [one, other]) await first.lab.act(router, 'start');
  const answering = await first.lab.console(t, other, '\n');
  await answering.until(/ready/);
  answering.type('ip 0/1 10.0.0.2');
  await answering.until(/ok/);
  const programs = [one, other].map(programsOf);

  return async (next: Life): Promise<void> => {
    const { lab } = next;
    await next.hasTakenOver(t, one, programs[0] ?? []);
    await next.hasTakenOver(t, other, programs[1] ?? []);
    const terminal = await lab.console(t, one, '\n');
    await terminal.until(/ready/);
    terminal.type('ip 0/0 10.0.0.1');
    await ping(terminal, '0/0', '10.0.0.2');
    await lab.client.expect(204, 'DELETE', lab.linkAt(link));
    await lab.link([one, 0, 2], [other, 0, 1]);
    terminal.type('ip 0/2 10.0.0.1');
    await ping(terminal, '0/2', '10.0.0.2');
    const config = join(String(one['node_directory']), 'startup-config.cfg');
    terminal.type('write after the takeover');
    await eventually('the configuration is copied out', () => {
      const text = existsSync(config) ? readFileSync(config, 'latin1') : '';
      return text.includes('after the takeover') || undefined;
    });
    t.match(await lab.act(one, 'stop'), { status: 'stopped' });
    await lab.client.expect(204, 'DELETE', lab.at(other));
    t.same([one, other].flatMap(programsOf), []);
  };
}

const PARTS: readonly (readonly [Part, missing: string | false])[] = [
  [machines, missingQemu()],
  [routers, missingDynamips()],
  [images, missingCompiler()],
];
const ABLE = PARTS.flatMap(([part, missing]) => (missing === false ? [part] : []));

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  void t.test(`programs of all kinds live on and are taken over after ${signal}`, async (t) => {
    const first = await Life.first(t);
    const expectations = [];
    for (const part of ABLE) expectations.push(await part(t, first));
    const next = await first.next(signal);
    for (const expectation of expectations) await expectation(next);
    await next.lab.client.expect(204, 'DELETE', next.lab.path);
  });
}

void t.test(
  'a machine that cannot be taken over is ended and started again',
  { skip: missingQemu() },
  async (t) => {
    const first = await Life.first(t);
    const [dead, confined] = [
      await first.lab.node('qemu', 'Q1', { ram: 32 }),
      await first.lab.node('qemu', 'Q2', { ram: 32 }),
    ];
    for (const node of [dead, confined]) await first.lab.act(node, 'start');
    const before = programsOf(confined);
    await first.server.stop('SIGKILL');
    for (const pid of programsOf(dead)) process.kill(pid, 'SIGKILL');
    const next = await first.next('SIGKILL', [...KEEPS, '--no-confinement']);
    await next.has(dead, 'started');
    await next.has(confined, 'started');
    t.equal(programsOf(dead).length, 1);
    t.equal(programsOf(confined).length, 1);
    // Without the privilege no program was confined, and the machine is the same.
    if (process.getuid?.() === 0) t.notSame(programsOf(confined), before);
    await next.lab.client.expect(204, 'DELETE', next.lab.path);
    t.same([dead, confined].flatMap(programsOf), []);
  },
);

void t.test('nothing is left after the grace, whenever the server is killed', async (t) => {
  const random = seededRandom(SEED);
  const flags = ['--keep-nodes', '1', '--kvm', 'off'];
  let life = await Life.first(t, flags);
  const nodes: Json[] = [];
  if (missingQemu() === false) nodes.push(await life.lab.node('qemu', 'Q1', { ...ASKING, tpm: true }));
  if (missingDynamips() === false) nodes.push(await life.lab.node('dynamips', 'R1', ROUTER));
  if (missingCompiler() === false) nodes.push(await life.lab.node('iou', 'I1', { path: 'double.bin' }));
  for (let moment = 0; moment < MOMENTS; moment++) {
    const starts = nodes.map((node) => life.lab.act(node, 'start').catch(() => undefined));
    await delay(Math.floor(random() * LATEST_MS));
    await life.server.stop('SIGKILL');
    await Promise.all(starts);
    await eventually('all has ended', () => nodes.flatMap(programsOf).length === 0 || undefined);
    if (moment === MOMENTS - 1) break;
    life = await life.next('SIGKILL', flags);
    await Promise.all(nodes.map((node) => life.knows(node)));
  }
});

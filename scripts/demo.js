/**
 * `npm run demo`: a server of its own, and what it does in a minute. Two virtual PCs behind an Ethernet switch ping each
 * other, tshark shows the capture of it, a cell passes two ATM switches on the compute interface, and a QEMU machine gets
 * its address from a NAT node. It installs nothing: what it lacks it names, and goes on with the rest. Its exit status is 1
 * when something that could be shown did not work.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, URL } from 'node:url';

const { AbortSignal, fetch } = globalThis;

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

/** How long anything may take. */
const LONGEST_MS = 90_000;
const HOST = '127.0.0.1';
const ADDRESSES = ['10.0.0.1', '10.0.0.2'];

const say = (text) => process.stdout.write(`${text}\n`);
const tell = (title) => say(`\n== ${title}`);
const has = (program) => spawnSync('which', [program]).status === 0;

/** Whether all programs are there; names the packages of those that are not. */
function hasAll(...programs) {
  const missing = programs.filter(([program]) => !has(program));
  for (const [program, name] of missing) say(`left out: the program ${program} is missing (Debian: ${name})`);
  return missing.length === 0;
}

class Api {
  constructor(url) {
    this.url = url;
  }

  async call(method, path, body) {
    const wanted = { method, headers: { 'Content-Type': 'application/json' } };
    if (body !== undefined) wanted.body = JSON.stringify(body);
    const reply = await fetch(`${this.url}/v2${path}`, {
      ...wanted,
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  post(path, body) {
    return this.call('POST', path, body);
  }
}

/** Waits for text at a telnet console. Its commands are sequences of three bytes that begin with 255. */
class Console {
  text = '';

  constructor(port) {
    this.socket = connect(port, HOST);
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1').replace(/\xff[\xfb-\xfe][^]/g, '');
    });
  }

  type(line) {
    this.socket.write(`${line}\r\n`);
  }

  async until(pattern) {
    for (const end = Date.now() + LONGEST_MS; Date.now() < end; await sleep(50)) {
      const found = pattern.exec(this.text);
      if (found !== null) return found;
    }
    throw new Error(`the console did not show ${pattern}, but ${JSON.stringify(this.text.slice(-500))}`);
  }

  close() {
    this.socket.destroy();
  }
}

async function startServer(data) {
  const flags = ['--port', '0', '--data', data, '--log-level', 'warn'];
  const child = spawn(process.execPath, ['dist/src/server/main.js', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /listens on (http:\S+)/.exec(line) ?? [];
    if (url !== undefined) return { child, api: new Api(url) };
  }
  throw new Error('the server has ended');
}

async function newLab(api, name) {
  const { project_id: id } = await api.post('/projects', { name, auto_close: false });
  const path = `/projects/${id}`;
  const node = (type, settings) =>
    api.post(`${path}/nodes`, { node_type: type, compute_id: 'local', ...settings });
  const link = (...ends) => {
    const nodes = ends.map(([{ node_id }, port_number]) => ({ node_id, adapter_number: 0, port_number }));
    return api.post(`${path}/links`, { nodes });
  };
  return { path, node, link };
}

async function pingThroughSwitch(api) {
  const lab = await newLab(api, 'ping');
  const scripts = ADDRESSES.map((address) => `set pcname %h\nip ${address}/24\n`);
  const pcs = [];
  for (const [index, script] of scripts.entries())
    pcs.push(await lab.node('vpcs', { name: `PC${index + 1}`, properties: { startup_script: script } }));
  const ethernet = await lab.node('ethernet_switch', { name: 'SW1' });
  const { link_id: id } = await lab.link([pcs[0], 0], [ethernet, 0]);
  await lab.link([pcs[1], 0], [ethernet, 1]);
  const link = `${lab.path}/links/${id}`;
  await api.post(`${link}/start_capture`, {});
  await api.post(`${lab.path}/nodes/start`);
  const terminal = new Console(pcs[0].console);
  await terminal.until(/PC1> $/);
  terminal.type(`ping ${ADDRESSES[1]} -c 3`);
  const [answer] = await terminal.until(/icmp_seq=1 ttl=[^\r\n]+/);
  say(answer);
  await terminal.until(/icmp_seq=3 ttl=[^\r\n]+/);
  terminal.close();
  await api.post(`${link}/stop_capture`);
  const [{ name }] = await api.call('GET', `${lab.path}/captures`);
  return `${lab.path}/captures/${encodeURIComponent(name)}`;
}

/** Shows the first packet of a ping in a capture. tshark reads no sockets, so it gets a file. */
async function showCapture(api, capture) {
  const reply = await fetch(`${api.url}/v2${capture}`, { signal: AbortSignal.timeout(LONGEST_MS) });
  const file = join(data, 'ping.pcap');
  writeFileSync(file, Buffer.from(await reply.arrayBuffer()));
  const { stdout, stderr } = spawnSync('tshark', ['-r', file, '-Y', 'icmp'], { encoding: 'utf8' });
  const [line] = stdout.split('\n');
  if (!/ICMP/.test(line)) throw new Error(`tshark found no ping in the capture: ${stderr}`);
  say(line.trim());
}

/** The check of the header of a cell. */
function headerCheck(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x107 : 0)) & 0xff;
  }
  return crc ^ 0x55;
}

function cellOf(vpi, vci) {
  const cell = Buffer.alloc(53, 0x6a);
  cell.writeUInt32BE(((vpi << 20) | (vci << 4)) >>> 0, 0);
  cell[4] = headerCheck(cell.subarray(0, 4));
  return cell;
}

async function passCell(api) {
  const { project_id: id } = await api.post('/compute/projects', { name: 'atm' });
  const path = `/compute/projects/${id}`;
  const port = async () => (await api.post(`${path}/ports/udp`)).udp_port;
  const here = createSocket('udp4');
  const there = createSocket('udp4');
  for (const socket of [here, there]) {
    socket.bind(0, HOST);
    await once(socket, 'listening');
  }
  const [entry, out, into, exit] = [await port(), await port(), await port(), await port()];
  const halves = [
    {
      name: 'ATM1',
      mapping: { '1:0:100': '2:0:200' },
      ports: [
        [1, entry, here.address().port],
        [2, out, into],
      ],
    },
    {
      name: 'ATM2',
      mapping: { '1:0:200': '2:0:300' },
      ports: [
        [1, into, out],
        [2, exit, there.address().port],
      ],
    },
  ];
  for (const { name, mapping, ports } of halves) {
    const { node_id: node } = await api.post(`${path}/atm_switch/nodes`, { name, mappings: mapping });
    for (const [number, lport, rport] of ports) {
      const nio = { type: 'nio_udp', lport, rhost: HOST, rport };
      await api.post(`${path}/atm_switch/nodes/${node}/adapters/0/ports/${number}/nio`, nio);
    }
  }
  const arrived = once(there, 'message', { signal: AbortSignal.timeout(LONGEST_MS) });
  here.send(cellOf(0, 100), entry, HOST);
  const [cell] = await arrived;
  const vci = (cell.readUInt32BE(0) >>> 4) & 0xffff;
  if (vci !== 300 || cell[4] !== headerCheck(cell.subarray(0, 4))) throw new Error('the cell came out wrong');
  say('a cell came in on 0/100 and went out on 0/300, with a correct header check');
  here.close();
  there.close();
}

async function bootMachine(api) {
  const lab = await newLab(api, 'machine');
  // Without a disk it boots from the network, and its firmware says at the serial port what it does.
  const properties = { ram: 64, boot_priority: 'n', options: '-machine graphics=off' };
  const machine = await lab.node('qemu', { name: 'R1', properties });
  const nat = await lab.node('nat', { name: 'NAT1' });
  await lab.link([machine, 0], [nat, 0]);
  await api.post(`${lab.path}/nodes/${machine.node_id}/start`);
  const serial = new Console(machine.console);
  const [address] = await serial.until(/net0: 192\.168\.122\.\d+[^\r\n]*/);
  say(`the machine got its address from the NAT node: ${address}`);
  serial.close();
}

const data = mkdtempSync(join(tmpdir(), 'wirefarm-demo-'));
const { child, api } = await startServer(data);
let failures = 0;

async function show(title, work) {
  tell(title);
  try {
    return await work();
  } catch (error) {
    failures++;
    say(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

try {
  let capture;
  if (hasAll(['vpcs', 'vpcs']))
    capture = await show('two virtual PCs behind an Ethernet switch', () => pingThroughSwitch(api));
  if (capture !== undefined && hasAll(['tshark', 'tshark']))
    await show('the capture of the ping', () => showCapture(api, capture));
  await show('a cell through two ATM switches on the compute interface', () => passCell(api));
  const machine = [
    ['qemu-system-x86_64', 'qemu-system-x86 and ipxe-qemu'],
    ['qemu-img', 'qemu-utils'],
  ];
  if (hasAll(...machine)) await show('a QEMU machine and a NAT node', () => bootMachine(api));
} finally {
  child.kill('SIGTERM');
  await once(child, 'exit');
  rmSync(data, { recursive: true });
}
process.exitCode = failures === 0 ? 0 : 1;

/** A real virtual machine that boots from the network through switches of this server. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { Client } from '../../support/client.js';
import { ComputeLab } from '../../support/compute-lab.js';
import { dhcpKind, DISCOVER, offerTo, REQUEST } from '../../support/dhcp.js';
import type { Teardown } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { freePort, UdpPeer } from '../../support/udp-peer.js';

const PROGRAM = 'qemu-system-x86_64';
const MAC = '52:54:00:12:34:56';
const skip =
  spawnSync('which', [PROGRAM]).status === 0
    ? false
    : `the program ${PROGRAM} is missing: install the packages qemu-system-x86 and ipxe-qemu`;

function boot(t: Teardown, localPort: number, remotePort: number): void {
  const machine = [
    '-nodefaults',
    '-display',
    'none',
    '-machine',
    'pc',
    '-accel',
    'tcg',
    '-m',
    '64',
    '-boot',
    'n',
  ];
  const network = `socket,id=n,udp=127.0.0.1:${remotePort},localaddr=127.0.0.1:${localPort}`;
  const child = spawn(PROGRAM, [...machine, '-netdev', network, '-device', `e1000,netdev=n,mac=${MAC}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.teardown(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
}

/** Everything that is received up to the first frame of this kind. */
async function untilKind(peer: UdpPeer, kind: number): Promise<Buffer> {
  for (let count = 1; ; count++) {
    const frame = (await peer.receive(count))[count - 1];
    if (frame !== undefined && dhcpKind(frame) === kind) return frame;
  }
}

void t.test(
  'a machine finds its network through a switch, a trunk and another switch',
  { skip },
  async (t) => {
    const client = new Client((await startServer(t)).url);
    const lab = await ComputeLab.open(client);
    const ports = [
      { name: 'Ethernet0', port_number: 0, type: 'access', vlan: 30 },
      { name: 'Ethernet1', port_number: 1, type: 'dot1q', vlan: 1 },
    ];
    const settings = { ports_mapping: ports };
    const left = await lab.node('ethernet_switch', settings);
    const right = await lab.node('ethernet_switch', settings);
    await lab.link([left, 1], [right, 1]);
    const server = await UdpPeer.open(t);
    const toServer = await lab.join(right, 0, server);
    const its = await freePort();
    boot(t, its, await lab.join(left, 0, { port: its }));
    const discovery = await untilKind(server, DISCOVER);
    await server.send(toServer, [offerTo(discovery)]);
    const request = await untilKind(server, REQUEST);
    t.equal(request.subarray(6, 12).toString('hex'), MAC.replaceAll(':', ''));
    const { text } = await client.get(`${right}/mac_table`);
    t.match(text, `"mac_address":"${MAC}","port_number":1,"vlan":30`);
  },
);

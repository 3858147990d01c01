/** A guest behind a NAT: it reaches servers in a namespace that stands for the world, and nothing of the host. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { GUEST, missingGuest, placeGuest } from '../../support/linux-guest.js';
import { ECHO, HOST, KNOWN, natWorld, WORLD } from '../../support/nat-world.js';
import { lackForNamespaces } from '../../support/network-namespace.js';
import { NodeLab } from '../../support/node-lab.js';
import { scratchFolder } from '../../support/scratch.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';

const missing = missingGuest();
const skip = missing === false ? lackForNamespaces() : missing;

/** A script for the DHCP client of busybox. */
const TAKE_LEASE = [
  '#!/bin/sh',
  '[ "$1" = bound ] || exit 0',
  'ifconfig $interface $ip netmask $subnet',
  'route add default gw $router',
  'echo nameserver $dns >/etc/resolv.conf',
].join('\\n');

void t.test(
  'a guest gets an address, a router and a name server, and reaches the world by TCP, UDP and DNS, but nothing of the host',
  { skip },
  async (t) => {
    await natWorld(t);
    const nameServers = join(scratchFolder(t), 'resolv.conf');
    writeFileSync(nameServers, `nameserver ${WORLD}\n`);
    const server = await startServer(t, {
      flags: ['--kvm', 'off'],
      environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
      mounts: { '/etc/resolv.conf': nameServers },
    });
    placeGuest(t, server.data);
    const lab = await NodeLab.make(t, server);
    const guest = await lab.node('qemu', 'G1', GUEST);
    const nat = await lab.node('nat', 'NAT1');
    await lab.link([guest, 0, 0], [nat, 0, 0]);
    await lab.act(guest, 'start');
    const shell = await lab.console(t, guest);
    await shell.until(/the guest is ready/);
    await shell.run(`printf '${TAKE_LEASE}\\n' >/lease; chmod +x /lease`);
    t.match(await shell.run('udhcpc -n -q -s /lease'), /lease of 192\.168\.122\.\d+ obtained/);

    // The sum is not in what the terminal echoes.
    t.match(await shell.run(`echo tcp-$((6*7)) | nc -w 20 ${WORLD} ${ECHO}`), /tcp-42/);
    const answer = new RegExp(`Name:\\s+${KNOWN.name}\\s+Address:\\s+${KNOWN.address}`);
    t.match(await shell.run(`nslookup -type=a ${KNOWN.name} ${WORLD}`), answer, 'by UDP to a server');
    const resolved = await shell.run(`nslookup -type=a ${KNOWN.name}`);
    t.match(resolved, /Server:\s+192\.168\.122\.3/);
    t.match(resolved, answer, 'by the name server of the NAT, which asks that of the host');

    const dropped = async (): Promise<number> => {
      const path = `/v2/compute${lab.path.slice('/v2'.length)}/nat/nodes/${String(nat['node_id'])}`;
      const { ports } = await lab.client.expect(200, 'GET', `${path}/statistics`);
      const [port] = ports as { counters: { drops: { nat_refused?: number } } }[];
      return port?.counters.drops.nat_refused ?? 0;
    };
    const before = await dropped();
    const api = (address: string): Promise<string> =>
      shell.run(`printf 'GET /v2/version HTTP/1.0\\r\\n\\r\\n' | nc -w 3 ${address} ${server.port}`);
    for (const address of ['192.168.122.1', '192.168.122.3', '127.0.0.1', HOST])
      t.notMatch(await api(address), /"version"|done-\d+-0/, `the interface at ${address}`);
    t.ok((await dropped()) > before, 'what leads to loopback is dropped and counted');
    t.equal((await lab.client.get('/v2/version')).status, 200, 'it is there all the time');
  },
);

/** Checks of ports, of the certificate and of the name of a server. Runs in a worker thread. */
import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { accessSync, constants, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback } from '../../base/loopback.js';
import { messageOf } from '../../base/errors/errors.js';
import { certificateTasks } from '../certificate-tasks.js';
import type { Diagnosis } from './diagnosis.js';
import { textOf } from './kernel-checks.js';
import type { Patient } from './patient.js';

type Range = readonly [first: number, last: number];

const FEWEST_PORTS = 100;
const FEWEST_PORTS_SHARE = 0.1;
const LISTENS = '0A';
const CLIENTS = {
  everybody: 'everybody',
  networks: 'the networks of --console-networks',
  'this host': 'this host only',
};
const TUN_DEVICE = '/dev/net/tun';
const NAME_LIMIT_MS = 5000;
const DAY_MS = 24 * 3600 * 1000;
const RENEWED_BEFORE_DAYS = 14;

export async function checkNetwork(patient: Patient): Promise<Diagnosis[]> {
  const { udpPorts, consolePorts } = patient;
  return [
    checkPorts(
      'ports.udp',
      'UDP ports of links',
      udpPorts,
      ownPorts('udp', () => true),
    ),
    checkPorts(
      'ports.consoles',
      'TCP ports of consoles',
      consolePorts,
      ownPorts('tcp', (state) => state === LISTENS),
    ),
    ...checkEphemeral({ 'udp-ports': udpPorts, 'console-ports': consolePorts }),
    checkConsoles(patient),
    checkTun(),
    checkCertificate(patient),
    await checkName(patient),
  ];
}

/** The local ports of sockets of a protocol, whatever their address. */
function ownPorts(protocol: string, isTaken: (state: string) => boolean): ReadonlySet<number> {
  const text = (textOf(`/proc/net/${protocol}`) ?? '') + (textOf(`/proc/net/${protocol}6`) ?? '');
  const ports = new Set<number>();
  for (const [, port = '', state = ''] of text.matchAll(/: [0-9A-F]+:([0-9A-F]{4}) \S+ ([0-9A-F]{2}) /g))
    if (isTaken(state)) ports.add(Number.parseInt(port, 16));
  return ports;
}

function checkPorts(id: string, what: string, [first, last]: Range, taken: ReadonlySet<number>): Diagnosis {
  const all = last - first + 1;
  const free = all - [...taken].filter((port) => first <= port && port <= last).length;
  const found = `${free} of the ${all} ${what} (${first}-${last}) are free`;
  if (free >= Math.min(FEWEST_PORTS, all * FEWEST_PORTS_SHARE)) return { id, level: 'ok', found };
  const protocol = id === 'ports.udp' ? 'u' : 't';
  return {
    id,
    level: free === 0 ? 'failure' : 'warning',
    found,
    means: 'no more nodes start, or no more links are made, than there are ports',
    repair: `ss -${protocol}lnp 'sport >= ${first} and sport <= ${last}' (or give the server other ports: wirefarm serve --help)`,
  };
}

/** The kernel gives the ports of this range to whatever connects anywhere. */
function checkEphemeral(ranges: Readonly<Record<string, Range>>): Diagnosis[] {
  const id = 'ports.ephemeral';
  const given = textOf('/proc/sys/net/ipv4/ip_local_port_range')?.trim().split(/\s+/).map(Number);
  if (given === undefined) return [];
  const [low = 0, high = 0] = given;
  const reserved = (textOf('/proc/sys/net/ipv4/ip_local_reserved_ports') ?? '').trim().split(',');
  const shared = Object.entries(ranges).filter(
    ([, [first, last]]) => first <= high && last >= low && !reserved.includes(`${first}-${last}`),
  );
  if (shared.length === 0)
    return [{ id, level: 'ok', found: `connections of this host have the ports ${low}-${high}` }];
  return [
    {
      id,
      level: 'warning',
      found: `the kernel gives out ports of --${shared.map(([name]) => name).join(' and --')} to connections (${low}-${high})`,
      means: 'now and then a console or a link finds its port taken',
      repair: `sysctl -w net.ipv4.ip_local_reserved_ports=${shared.map(([, ports]) => ports.join('-')).join(',')}`,
    },
  ];
}

/** Desktop clients open the telnet and VNC ports of nodes themselves. */
function checkConsoles({ consoleHost, consoleClients, hasUsers, isForOthers }: Patient): Diagnosis {
  const id = 'consoles';
  const found = `consoles of nodes listen on ${consoleHost} and serve ${CLIENTS[consoleClients]}`;
  const isReached = !isLoopback(consoleHost) && consoleClients !== 'this host';
  if (isForOthers && !isReached)
    return {
      id,
      level: 'note',
      found,
      means:
        'desktop clients on other hosts have no consoles; the pages of the server and wirefarm console have them',
      repair: 'wirefarm serve --console-host ADDRESS --console-networks NETWORK,… (they ask for no password)',
    };
  if (!hasUsers || !isReached || consoleClients === 'networks') return { id, level: 'ok', found };
  return {
    id,
    level: 'warning',
    found,
    means: 'whoever reaches that address can type into all nodes, without a password',
    repair: 'wirefarm serve --console-networks NETWORK,…',
  };
}

function checkTun(): Diagnosis {
  const id = 'device.tun';
  try {
    accessSync(TUN_DEVICE, constants.R_OK | constants.W_OK);
    return { id, level: 'ok', found: `${TUN_DEVICE} can be used` };
  } catch (error) {
    return {
      id,
      level: 'note',
      found: `${TUN_DEVICE} cannot be used: ${messageOf(error)}`,
      means: 'clouds have no TAP interfaces, and containers no network',
      repair: 'modprobe tun',
    };
  }
}

function checkCertificate({ certificate, publicUrl, hasProxies, isForOthers }: Patient): Diagnosis {
  const id = 'tls.certificate';
  if (certificate === undefined) {
    if (!isForOthers || hasProxies) return { id, level: 'ok', found: 'the server itself speaks no TLS' };
    return {
      id,
      level: 'warning',
      found: 'the server has no certificate, and others can reach it',
      means: 'passwords and consoles cross the network as they are',
      repair: 'wirefarm tls self-signed --host NAME --out DIR (then wirefarm serve --tls-cert … --tls-key …)',
    };
  }
  const repair = `wirefarm tls self-signed --host NAME --out DIR (or renew ${certificate.certificate} where it comes from)`;
  const { problem, names, ends } = certificateTasks.readCertificate(certificate);
  if (problem !== undefined) {
    const means = 'the server does not start, and one that runs keeps the former certificate';
    return { id, level: 'failure', found: problem, means, repair };
  }
  const days = Math.floor((Date.parse(ends) - Date.now()) / DAY_MS);
  if (days < 0)
    return {
      id,
      level: 'failure',
      found: `the certificate ended on ${ends}`,
      means: 'clients refuse it',
      repair,
    };
  if (days < RENEWED_BEFORE_DAYS)
    return {
      id,
      level: 'warning',
      found: `the certificate ends on ${ends}`,
      means: 'clients will refuse it',
      repair,
    };
  const name = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  const pair = new X509Certificate(readFileSync(certificate.certificate));
  if (name !== undefined && pair.checkHost(name) === undefined && pair.checkIP(name) === undefined)
    return {
      id,
      level: 'failure',
      found: `the certificate is for ${names}, not for ${name}`,
      means: 'clients refuse it',
      repair,
    };
  return { id, level: 'ok', found: `the certificate for ${names} ends on ${ends}` };
}

async function checkName({ publicUrl, certificate, hasProxies }: Patient): Promise<Diagnosis> {
  const id = 'name.public_url';
  if (publicUrl === undefined) return { id, level: 'ok', found: 'the server has no public URL' };
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' && certificate === undefined && !hasProxies)
    return {
      id,
      level: 'warning',
      found: `${publicUrl} is https, and neither the server nor a trusted proxy speaks TLS`,
      means: 'clients by that name do not reach the server',
      repair: 'wirefarm serve --tls-cert … --tls-key …, or --trusted-proxies ADDRESS',
    };
  const waiting = new AbortController();
  try {
    const late = sleep(NAME_LIMIT_MS, undefined, { signal: waiting.signal });
    const { address } = await Promise.race([lookup(hostname), late.then(tellLate)]);
    return { id, level: 'ok', found: `${hostname} is ${address}` };
  } catch (error) {
    return {
      id,
      level: 'warning',
      found: `${hostname} is not found: ${messageOf(error)}`,
      means: 'clients by that name do not reach the server',
      repair: `getent hosts ${hostname} (and enter the name where names are kept)`,
    };
  } finally {
    waiting.abort();
  }
}

function tellLate(): never {
  throw new Error('no name server answers');
}

/** A farm when nobody asks for anything: what is wanted, what runs on computes, and whether frames pass between them. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Client } from '../client.js';
import { patience } from '../patience.js';
import { quietFindings } from './checker.js';
import { AUTHORIZATION, type SoakFarm } from './farm.js';
import type { FollowedEtcd } from './followed-etcd.js';
import type { Quiet, Running, Wanted } from './history.js';
import { COMPUTES } from './plan.js';

type Json = Record<string, unknown>;

const LIMIT_MS = patience(60_000);
const BETWEEN_MS = 250;
const FRAMES = 3;
const FRAME_MS = patience(3000);
const HUB_PORT = 7;

/** The hubs of the link that frames are sent over, one on each compute. */
export interface Line {
  readonly project: string;
  readonly hubs: readonly string[];
}

/** Looks until there is nothing to find, or for a minute: the last look counts. */
export async function untilQuiet(farm: SoakFarm, etcd: FollowedEtcd, line: Line): Promise<Quiet> {
  const giveUp = performance.now() + LIMIT_MS;
  for (;;) {
    const quiet = await lookAt(farm, etcd, line);
    if (quietFindings(quiet).length === 0 || performance.now() > giveUp) return quiet;
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
}

async function lookAt(farm: SoakFarm, etcd: FollowedEtcd, line: Line): Promise<Quiet> {
  const last = await etcd.last();
  const projects = Object.keys(last).flatMap((object) =>
    object.startsWith('project/') ? [object.slice(8)] : [],
  );
  const wanted = await wantedOf(farm, etcd, projects);
  const running = await Promise.all(
    farm.computeUrls.map((url, index) => runningOn(COMPUTES[index] ?? '', url)),
  );
  const frames = { sent: FRAMES, received: await passFrames(farm, line).catch(() => 0) };
  return { wanted, running, programs: programsOf(etcd), frames };
}

async function wantedOf(farm: SoakFarm, etcd: FollowedEtcd, projects: readonly string[]): Promise<Wanted> {
  const client = new Client(farm.serverUrls[0] ?? '', { authorization: AUTHORIZATION });
  const states = new Map<string, boolean>();
  for (const project of projects) {
    const { status, body } = await client.get(`/v2/projects/${project}/nodes`);
    if (status !== 200) continue;
    for (const { node_id: id, node_type: type, status: state } of body as Json[])
      states.set(`node/${project}/${String(id)}`, type === 'vpcs' && state === 'started');
  }
  const objects = [...etcd.objects];
  const nodes = Object.fromEntries(
    objects.flatMap(([object, { compute_id: compute }]) =>
      object.startsWith('node/')
        ? [[object, { compute: String(compute), started: states.get(object) ?? false }]]
        : [],
    ),
  );
  const links = objects.flatMap(([object, { nodes: ends = [] }]) => {
    if (!object.startsWith('link/')) return [];
    const project = object.split('/')[1] ?? '';
    const places = new Set(ends.map(({ node_id: id }) => nodes[`node/${project}/${id}`]?.compute));
    return places.size === 2 ? [object] : [];
  });
  return { nodes, links };
}

async function runningOn(compute: string, url: string): Promise<Running> {
  const client = new Client(url, { authorization: AUTHORIZATION });
  const nodes: string[] = [];
  const ends: { link: string; port: number }[] = [];
  const { body } = await client.get('/v2/compute/projects').catch(() => ({ body: [] }));
  for (const { project_id: id } of body as { project_id: string }[]) {
    const actual = await client.get(`/v2/compute/projects/${id}/wanted`).catch(() => undefined);
    if (actual?.status !== 200) continue;
    const shown = actual.body as {
      readonly nodes: readonly { node_id: string; fault: unknown }[];
      readonly attachments: readonly { link_id: string; lport: number | null; fault: unknown }[];
    };
    for (const { node_id: node, fault } of shown.nodes) if (fault === null) nodes.push(`node/${id}/${node}`);
    for (const { link_id: link, lport: port, fault } of shown.attachments)
      if (port !== null && fault === null) ends.push({ link: `link/${id}/${link}`, port });
  }
  return { compute, nodes, ends };
}

/** The nodes of the farm whose virtual PCs run: each is in a network of its own. */
function programsOf(etcd: FollowedEtcd): string[] {
  const nodes = new Map(etcd.changes.map(({ object }) => [object.split('/')[2] ?? '', object]));
  return readdirSync('/proc').flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || readFileSync(`/proc/${pid}/comm`, 'latin1').trim() !== 'vpcs') return [];
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      const own = variables.find((entry) => entry.startsWith('WIREFARM_NODE='))?.split('/')[1] ?? '';
      const node = nodes.get(own);
      return node === undefined ? [] : [node];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

/** Leads sockets to both hubs and sends frames from one to the other. Resolves with how many have come. */
async function passFrames(farm: SoakFarm, { project, hubs }: Line): Promise<number> {
  const sockets = [createSocket('udp4'), createSocket('udp4')];
  const undo: (() => Promise<unknown>)[] = [];
  try {
    const ports: number[] = [];
    for (const [index, socket] of sockets.entries()) {
      socket.bind(0, farm.network.ownAddress);
      await once(socket, 'listening');
      const client = new Client(farm.computeUrls[index] ?? '', { authorization: AUTHORIZATION });
      const { udp_port: lport } = await client.expect(
        201,
        'POST',
        `/v2/compute/projects/${project}/ports/udp`,
      );
      const at = `/v2/compute/projects/${project}/ethernet_hub/nodes/${hubs[index] ?? ''}/adapters/0/ports/${HUB_PORT}/nio`;
      const peer = { rhost: farm.network.ownAddress, rport: socket.address().port };
      undo.push(() => client.delete(at));
      await client.expect(201, 'POST', at, { type: 'nio_udp', lport, ...peer });
      ports.push(Number(lport));
    }
    return await counted(sockets, ports[0] ?? 0, farm.computes[0]?.host.address ?? '');
  } finally {
    for (const back of undo) await back().catch(() => undefined);
    for (const socket of sockets) socket.close();
  }
}

function counted(
  [from, to]: readonly ReturnType<typeof createSocket>[],
  port: number,
  address: string,
): Promise<number> {
  return new Promise((resolve) => {
    let received = 0;
    const over = setTimeout(() => {
      resolve(received);
    }, FRAME_MS);
    to?.on('message', () => {
      if (++received < FRAMES) return;
      clearTimeout(over);
      resolve(received);
    });
    for (let frame = 0; frame < FRAMES; frame++) from?.send(Buffer.alloc(60, frame + 1), port, address);
  });
}

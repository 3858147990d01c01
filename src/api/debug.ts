/**
 * Reports for who looks for a fault. They tell about the host, so only a local server makes them: its clients are people
 * of this machine. They hold no secrets.
 */
import { uptime } from 'node:os';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { refusals } from '../base/errors/errors.js';
import { PRODUCT } from '../base/product.js';
import { empty } from '../http/answer.js';
import { sendText } from '../http/page.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { HostTasks } from '../run/host-tasks.js';
import type { LocalCompute } from '../run/local-compute.js';
import { nothing } from './schemas.js';

/** The most projects that a report tells of one by one. */
const MOST_PROJECTS = 1000;

export function debugRoutes(
  controller: Controller,
  compute: LocalCompute,
  files: TaskRunner<HostTasks>,
  folder: string,
): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v2/debug',
      tag: 'Server',
      access: { right: 'admin' },
      summary: 'Write reports into the folder debug of the data folder (local servers only)',
      params: nothing,
      answers: { 201: null },
      handle: async () => {
        if (!controller.isLocal) throw refusals.debugLocalOnly();
        await files.run('writeReports', {
          folder,
          reports: {
            'controller.txt': controllerReport(controller),
            'compute_local.txt': await computeReport(controller, compute),
          },
        });
        return empty(201);
      },
    }),
    route({
      method: 'GET',
      path: '/v2/compute/debug',
      tag: 'Compute',
      access: { right: 'admin' },
      summary: 'Report on this compute (local servers only)',
      params: nothing,
      answers: { 200: { media: 'text/plain' } },
      handle: async ({ exchange }) => {
        if (!controller.isLocal) throw refusals.debugLocalOnly();
        return sendText(exchange, await computeReport(controller, compute));
      },
    }),
  ];
}

export function controllerReport({ gns3Version, isLocal, computes, projects }: Controller): string {
  const all = [...projects.all.values()];
  const open = all.filter(({ isOpen }) => isOpen);
  return lines([
    `${PRODUCT.name} ${PRODUCT.version}, for clients of GNS3 ${gns3Version}`,
    `local: ${String(isLocal)}`,
    `computes: ${computes.ids.join(', ')}`,
    `projects: ${all.length}, of which ${open.length} are open`,
    ...open.slice(0, MOST_PROJECTS).map(({ id, topology: { nodes, links, drawings } }) => {
      return `${id}: ${nodes.size} nodes, ${links.size} links, ${drawings.size} drawings`;
    }),
  ]);
}

export async function computeReport(controller: Controller, compute: LocalCompute): Promise<string> {
  const { rss, heapUsed } = process.memoryUsage();
  const { cpu_usage_percent: processor, memory_usage_percent: memory } = controller.load();
  const { console_ports: consoles, udp_ports: udp } = controller.computes.ownPorts;
  return lines([
    `${PRODUCT.name} ${PRODUCT.version} on Node.js ${process.version}, ${process.platform} ${process.arch}`,
    `runs for ${Math.round(process.uptime())} s on a host that runs for ${Math.round(uptime())} s`,
    `host: ${processor} % of the processors, ${memory} % of the memory`,
    `HTTP thread: ${inMebibytes(heapUsed)} MiB of objects; all threads: ${inMebibytes(rss)} MiB`,
    `kinds of node: ${(await compute.nodeTypes()).join(', ')}`,
    `ports given out: ${consoles.length} to consoles, ${udp.length} to links`,
  ]);
}

function lines(text: readonly string[]): string {
  return `${text.join('\n')}\n`;
}

function inMebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

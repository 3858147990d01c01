/** Captures of the ports of nodes, as the compute interface has them. */
import { basename } from 'node:path';
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import { captureFilePath, type PortCaptures } from '../captures/port-captures.js';
import type { NodeKind } from '../lab/kinds/node-kind.js';
import { SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import { refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { captureGap, MOST_GAPS } from '../captures/capture-record.js';
import { captureSettings } from '../captures/capture-settings.js';
import { findPort } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { PCAP, PCAPNG } from './link-captures.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';
const params = names('project_id', 'node_id', 'adapter_number', 'port_number');
const started = z.strictObject({ pcap_file_path: z.string() });
const portCapture = captureSettings.required({ capture_file_name: true }).extend({
  /** The history of a capture that goes on in its file. When it runs still, nothing is changed. */
  goes_on: z
    .strictObject({ startedAt: z.number().min(0), gaps: z.array(captureGap).max(MOST_GAPS) })
    .optional(),
});

export function computeCaptureRoutes(compute: LocalCompute, captures: PortCaptures): Route[] {
  return SERVED_KINDS.flatMap((kind) => routesOf(compute, captures, kind));
}

function routesOf(compute: LocalCompute, captures: PortCaptures, kind: NodeKind): Route[] {
  const base = `${nodesPath(kind)}/{node_id}/adapters/{adapter_number}/ports/{port_number}`;
  const what = `a port of ${kind.title}`;
  return [
    route({
      method: 'POST',
      path: `${base}/start_capture`,
      tag,
      access: { right: 'compute' },
      summary: `Start a packet capture on ${what}`,
      params,
      body: portCapture,
      answers: { 200: started },
      handle: async ({ params: wanted, body: { goes_on: history, ...settings }, exchange }) => {
        const { node, port } = findPort(compute, kind, wanted, exchange.path);
        const running = history && captures.running(node, port);
        const runs = running !== undefined && basename(running.plan.path) === settings.capture_file_name;
        const capture = runs ? running : await captures.start(node, port, { settings, history });
        return json(200, { pcap_file_path: captureFilePath(capture) });
      },
    }),
    route({
      method: 'POST',
      path: `${base}/stop_capture`,
      tag,
      access: { right: 'compute' },
      summary: `Stop the packet capture on ${what}`,
      params,
      answers: { 204: null },
      handle: async ({ params: wanted, exchange }) => {
        const { node, port } = findPort(compute, kind, wanted, exchange.path);
        await captures.stop(node, port);
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: `${base}/pcap`,
      tag,
      access: { right: 'compute' },
      summary: `Stream the packet capture on ${what}, live until it stops`,
      params,
      answers: { 200: { media: PCAP } },
      handle: ({ params: wanted, exchange }) => {
        const { node, port } = findPort(compute, kind, wanted, exchange.path);
        const capture = captures.running(node, port);
        if (capture === undefined) throw refusals.captureNothingToStream();
        return exchange.streamTail(capture.plan.format === 'pcap' ? PCAP : PCAPNG, capture.view());
      },
    }),
  ];
}

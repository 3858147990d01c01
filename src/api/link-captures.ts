/** Packet captures of links, and live streams of their packets. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json, jsonText } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { FILE_ANSWERS, FILE_HEADERS, sendFile } from '../http/file-transfer.js';
import { route, socketRoute, type Route, type SocketRoute } from '../http/route.js';
import { captureSettings, selection, LARGEST_SNAPLEN } from '../captures/capture-settings.js';
import type { Controller } from '../lab/controller.js';
import type { ProjectCaptures } from '../captures/link-captures.js';
import type { LinkCapture } from '../captures/link-capture.js';
import { captureStatus } from '../captures/capture-status.js';
import { FarCapture } from '../captures/far-capture.js';
import { statusesOf } from '../captures/far-capture-watch.js';
import type { LinkStream } from '../captures/link-stream.js';
import type { FileThreads } from '../http/file-source.js';
import { findLink } from '../lab/topology/links.js';
import { CAPTURES } from '../lab/projects/folder-layout.js';
import type { TailSource } from '../http/streams/tail-flow.js';
import { farTail, rangeHeaders, sendFarFile } from './far-bodies.js';
import { link } from './shapes/links.js';
import { names } from './schemas.js';

const tag = 'Captures';
export const PCAP = 'application/vnd.tcpdump.pcap';
export const PCAPNG = 'application/x-pcapng';

const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);
const streamQuery = z.strictObject({
  bpf: selection.bpf,
  cells: z.enum(['true', 'false']).optional(),
  /** `capturing`, or ids separated by commas; without it, all links of the project. */
  links: z.string().max(1_048_576).optional(),
  sample: whole.pipe(z.number().min(1)).optional(),
  snaplen: whole.pipe(z.number().min(1).max(LARGEST_SNAPLEN)).optional(),
});

interface LinkIds {
  readonly project_id: string;
  readonly link_id: string;
}

export function linkCaptureRoutes(
  { projects }: Controller,
  captures: ProjectCaptures,
  files: FileThreads,
): { routes: Route[]; sockets: SocketRoute[] } {
  const one = names('project_id', 'link_id');
  const base = '/v2/projects/{project_id}/links/{link_id}';
  const lastOf = (params: LinkIds): LinkCapture | FarCapture | undefined => {
    const project = projects.find(params.project_id);
    findLink(project.topology, params.link_id);
    const all = captures.of(project);
    return all.get(params.link_id) ?? all.far(params.link_id);
  };
  const captureOf = (params: LinkIds): LinkCapture | FarCapture => {
    const capture = lastOf(params);
    if (capture === undefined) throw refusals.captureUnknown(params.link_id);
    return capture;
  };
  const runningOf = (params: LinkIds): LinkCapture | FarCapture => {
    const capture = lastOf(params);
    if (capture?.isRunning !== true) throw refusals.captureInactive();
    return capture;
  };
  const shown = (params: LinkIds): string => {
    const text = projects.find(params.project_id).topology.links.published(params.link_id);
    if (text === undefined) throw refusals.linkUnknown(params.link_id);
    return text;
  };
  const openStream = (
    projectId: string,
    { links, cells, ...selected }: z.output<typeof streamQuery>,
  ): Promise<LinkStream> =>
    captures.of(projects.find(projectId)).openStream(links, { ...selected, cells: cells === 'true' });

  return {
    routes: [
      route({
        method: 'POST',
        path: `${base}/start_capture`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Start a packet capture on a link',
        params: one,
        body: captureSettings,
        answers: { 201: link },
        handle: async ({ params, body }) => {
          await captures.of(projects.find(params.project_id)).start(params.link_id, body);
          return jsonText(201, shown(params));
        },
      }),
      route({
        method: 'POST',
        path: `${base}/stop_capture`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Stop the packet capture; its file is complete then',
        params: one,
        answers: { 201: link },
        handle: async ({ params }) => {
          await captures.of(projects.find(params.project_id)).stop(params.link_id);
          return jsonText(201, shown(params));
        },
      }),
      route({
        method: 'GET',
        path: `${base}/pcap`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Stream a running capture: its packets so far, then live until it stops',
        params: one,
        answers: { 200: { media: PCAP } },
        handle: ({ params, exchange }) => streamCapture(exchange, runningOf(params)),
      }),
      route({
        method: 'GET',
        path: `${base}/capture`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Show the state of the last capture of a link',
        params: one,
        answers: { 200: captureStatus },
        handle: async ({ params }) => {
          const capture = captureOf(params);
          return json(
            200,
            await (capture instanceof FarCapture ? capture.status(statusesOf) : capture.status()),
          );
        },
      }),
      route({
        method: 'GET',
        path: `${base}/capture/file`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Download the written part of the file of the last capture of a link',
        params: one,
        headers: FILE_HEADERS,
        answers: FILE_ANSWERS,
        handle: async ({ params, exchange }) => {
          const root = projects.find(params.project_id).record.path;
          const capture = captureOf(params);
          if (capture instanceof FarCapture)
            return sendFarFile(exchange, await capture.file(rangeHeaders(exchange)), mediaOf(capture.format));
          const path = `${CAPTURES}/${capture.fileName}`;
          return sendFile(exchange, files, { root, path, most: capture.wholeBytes });
        },
      }),
      route({
        method: 'GET',
        path: '/v2/projects/{project_id}/pcap',
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Stream the packets on links of a project from now on, as one pcapng stream',
        params: names('project_id'),
        query: streamQuery,
        answers: { 200: { media: PCAPNG } },
        handle: async ({ params, query, exchange }) =>
          exchange.streamTail(PCAPNG, await openStream(params.project_id, query)),
      }),
    ],
    sockets: [
      socketRoute({
        path: `${base}/pcap/ws`,
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Stream a running capture, in binary messages',
        params: one,
        open: ({ params }) => {
          const capture = runningOf(params);
          return capture instanceof FarCapture ? farView(capture) : capture.view();
        },
      }),
      socketRoute({
        path: '/v2/projects/{project_id}/pcap/ws',
        tag,
        access: { right: 'capture', project: 'project_id' },
        summary: 'Stream the packets on links of a project, in binary messages',
        params: names('project_id'),
        query: streamQuery,
        open: ({ params, query }) => openStream(params.project_id, query),
      }),
    ],
  };
}

async function streamCapture(exchange: Exchange, capture: LinkCapture | FarCapture): Promise<'streamed'> {
  if (capture instanceof FarCapture)
    return exchange.streamTail(mediaOf(capture.format), await farView(capture));
  // A ring of files begins at the oldest record that is left; the headers say how much is gone.
  const { rotated_away: gone, format } = capture.status();
  return exchange.streamTail(mediaOf(format), capture.view(), [
    ['X-Capture-Rotated-Away', `files=${gone.files} bytes=${gone.bytes}`],
  ]);
}

/** A compute that answers at once may still refuse. One of GNS3 sends no head before the first packet. */
async function farView(capture: FarCapture): Promise<TailSource> {
  const leave = new AbortController();
  const answer = capture.pcap(leave.signal);
  if (capture.answersAtOnce) await answer;
  return farTail(answer, leave);
}

function mediaOf(format: 'pcap' | 'pcapng'): string {
  return format === 'pcap' ? PCAP : PCAPNG;
}

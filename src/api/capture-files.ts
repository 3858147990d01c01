/** The capture files of a project, open or closed: listing, downloads, and their removal. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { includesGrant } from '../base/rights.js';
import { empty, json } from '../http/answer.js';
import { FILE_ANSWERS, FILE_HEADERS, sendFile } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import { TarStream } from '../http/tar-stream.js';
import type { CaptureLibrary } from '../captures/files/capture-library.js';
import type { FileThreads } from '../http/file-source.js';
import type { Controller } from '../lab/controller.js';
import { names, nothing } from './schemas.js';
import { captureFile, projectCaptureFile } from './shapes/captures.js';

const tag = 'Captures';
const TAR = 'application/x-tar';

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);

export function captureFileRoutes(
  { projects }: Controller,
  captures: CaptureLibrary,
  files: FileThreads,
): Route[] {
  const all = names('project_id');
  const one = names('project_id', 'name');
  const base = '/v2/projects/{project_id}/captures';
  return [
    route({
      method: 'GET',
      path: '/v2/captures',
      tag,
      access: { right: 'capture' },
      summary: 'List the capture files of all projects that one may see, open or closed',
      params: nothing,
      answers: { 200: z.array(projectCaptureFile) },
      handle: async ({ exchange }) => {
        const { caller } = exchange;
        const found: z.output<typeof projectCaptureFile>[] = [];
        for (const project of [...projects.all.values()]) {
          if (exchange.isGone) break;
          const grant = caller.grantOn(project.id);
          if (grant === undefined || !includesGrant(grant, 'use')) continue;
          const { id, name } = project;
          const files = await captures.list(project, () => !exchange.isGone);
          found.push(...files.map((file) => ({ ...file, project_id: id, project_name: name })));
        }
        return json(200, found);
      },
    }),
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'capture', project: 'project_id' },
      summary: 'List the capture files, with their packet counts',
      params: all,
      answers: { 200: z.array(captureFile) },
      handle: async ({ params, exchange }) => {
        const project = projects.find(params.project_id);
        return json(200, await captures.list(project, () => !exchange.isGone));
      },
    }),
    route({
      method: 'DELETE',
      path: base,
      tag,
      access: { right: 'capture', project: 'project_id' },
      summary:
        'Remove finished captures by age in seconds, then the oldest until at most keep_bytes are left',
      params: all,
      query: z.strictObject({ keep_bytes: whole.optional(), older_than: whole.optional() }),
      answers: { 200: z.strictObject({ deleted: z.array(z.string()), freed_bytes: z.int() }) },
      handle: async ({ params, query: { keep_bytes: keepBytes, older_than: seconds } }) => {
        const project = projects.find(params.project_id);
        if (keepBytes === undefined && seconds === undefined) throw refusals.captureLimitMissing();
        const olderThanMs = seconds === undefined ? undefined : seconds * 1000;
        const gone = await captures.prune(project, { olderThanMs, keepBytes });
        const freed = gone.reduce((sum, { size }) => sum + size, 0);
        return json(200, { deleted: gone.map(({ name }) => name), freed_bytes: freed });
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{name}`,
      tag,
      access: { right: 'capture', project: 'project_id' },
      summary: 'Download a capture file; of a running capture, the part that is written',
      params: one,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: ({ params, exchange }) => {
        const project = projects.find(params.project_id);
        const file = captures.place(project, params.name);
        exchange.atEnd(project.hold());
        return sendFile(exchange, files, file);
      },
    }),
    route({
      method: 'DELETE',
      path: `${base}/{name}`,
      tag,
      access: { right: 'capture', project: 'project_id' },
      summary: 'Remove a finished capture',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await captures.remove(projects.find(params.project_id), params.name);
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: `${base}.tar`,
      tag,
      access: { right: 'capture', project: 'project_id' },
      summary: 'Download some capture files, or all of them, as one tar archive',
      params: all,
      query: z.strictObject({ names: z.string().min(1).max(1_048_576).optional() }),
      answers: { 200: { media: TAR } },
      handle: async ({ params, query, exchange }) => {
        const project = projects.find(params.project_id);
        exchange.atEnd(project.hold());
        const wanted = await captures.find(project, query.names?.split(','));
        const entries = wanted.map((name) => ({
          ...captures.place(project, name),
          memberPath: `captures/${name}`,
        }));
        return exchange.streamTail(TAR, new TarStream(files, entries));
      },
    }),
  ];
}

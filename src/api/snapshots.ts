/** Snapshots of projects: those of the GNS3 interface, and what this server can do with them besides. */
import type { FileThreads } from '../http/file-source.js';
import { z } from 'zod';
import { empty, json, jsonText } from '../http/answer.js';
import { attachmentHeader } from '../http/headers.js';
import { FILE_ANSWERS, FILE_HEADERS, sendFile } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import { text } from '../lab/gns3-file/topology-schema.js';
import type { ProjectArchives } from '../snapshots/projects/project-archives.js';
import type { Jobs } from '../snapshots/jobs.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { ARCHIVE, sendArchive } from './archive-answer.js';
import { begunWithResult } from './begun-job.js';
import { begunJob } from './shapes/jobs.js';
import { project } from './shapes/projects.js';
import { comparison, fileChange, snapshot, snapshotFacts } from './shapes/snapshots.js';
import { names } from './schemas.js';

const tag = 'Snapshots';

const count = z.int().nullable();
const details = z.strictObject({
  ...snapshotFacts,
  form: z.enum(['wirefarm', 'topology', 'gns3']),
  size: z.int(),
  unique_size: z.int(),
  nodes: count,
  links: count,
  drawings: count,
  files: count,
  state: z.enum(['whole', 'sealing']),
  digest: z.string().nullable(),
});
/** The most damaged files that a verification lists. */
const MOST_DAMAGED = 1000;
const number = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a whole number')
  .transform(Number);

export function snapshotRoutes(
  { projects }: Controller,
  snapshots: Snapshots,
  archives: ProjectArchives,
  files: FileThreads,
  jobs: Jobs,
): Route[] {
  const all = '/v2/projects/{project_id}/snapshots';
  const one = `${all}/{snapshot_id}`;
  const ofProject = names('project_id');
  const params = names('project_id', 'snapshot_id');
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the snapshots of a project, open or closed, oldest first',
      params: ofProject,
      answers: { 200: z.array(snapshot) },
      handle: async ({ params: { project_id: id } }) => json(200, await snapshots.list(projects.find(id))),
    }),
    route({
      method: 'POST',
      path: all,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Create a snapshot of an open project, with everything as of one moment',
      params: ofProject,
      query: z.strictObject({
        running: z.enum(['true', 'false']).optional(),
        hold: z.enum(['long']).optional(),
      }),
      body: z.strictObject({ name: text(1, 255), description: text(0, 4096).optional() }),
      answers: { 201: snapshot },
      handle: async ({
        params: { project_id: id },
        body: { name, description },
        query: { running, hold },
        exchange,
      }) => {
        const wanted = running === 'true' ? { isLong: hold === 'long' } : undefined;
        return json(201, await snapshots.create(projects.find(id), name, description, wanted, exchange));
      },
    }),
    route({
      method: 'DELETE',
      path: all,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary:
        'Begin to delete snapshots, except the newest and the young ones; the result of the job are those deleted',
      params: ofProject,
      query: z
        .strictObject({ keep: number.optional(), older_than: number.optional() })
        .refine(({ keep, older_than }) => keep !== undefined || older_than !== undefined, {
          message:
            'give the number of snapshots to keep (keep), the age from which they may go (older_than, in seconds), or both',
        }),
      answers: { 202: begunJob },
      handle: ({ params: { project_id: id }, query: { keep, older_than: olderThan }, exchange }) =>
        begunWithResult(exchange, jobs, snapshots.prune(projects.find(id), { keep, olderThan }), (gone) =>
          JSON.stringify(gone),
        ),
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show the sizes, the contents and the digest of a snapshot',
      params,
      answers: { 200: details },
      handle: async ({ params: { project_id: id, snapshot_id: wanted } }) =>
        json(200, await snapshots.details(projects.find(id), wanted)),
    }),
    route({
      method: 'DELETE',
      path: one,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete a snapshot',
      params,
      answers: { 204: null },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, exchange }) => {
        await snapshots.delete(projects.find(id), wanted, exchange);
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: `${one}/archive`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Download a snapshot as the archive that GNS3 makes of one',
      params,
      headers: FILE_HEADERS,
      answers: { ...FILE_ANSWERS, 200: { media: ARCHIVE }, 206: { media: ARCHIVE } },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, exchange }) => {
        const found = projects.find(id);
        const { snapshot: kept, form } = await snapshots.find(found, wanted);
        if (form === 'gns3') {
          const place = { root: found.place.folder, folder: SNAPSHOTS, path: kept.filename };
          return sendFile(exchange, files, {
            ...place,
            media: ARCHIVE,
            headers: () => [attachmentHeader(kept.filename)],
          });
        }
        const archive = await archives.exports.beginSnapshot(found, kept, exchange);
        return sendArchive(exchange, files, archive, kept.filename);
      },
    }),
    route({
      method: 'POST',
      path: `${one}/restore`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Restore the project from a snapshot, whole or not at all',
      params,
      answers: { 201: project },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, exchange }) =>
        jsonText(201, await snapshots.restore(projects.find(id), wanted, exchange)),
    }),
    route({
      method: 'POST',
      path: `${one}/nodes/{node_id}/restore`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary:
        'Begin to restore one node with its files and its links, and nothing else; the result of the job is the node',
      params: names('project_id', 'snapshot_id', 'node_id'),
      answers: { 202: begunJob },
      handle: async ({ params: { project_id: id, snapshot_id: wanted, node_id: nodeId }, exchange }) =>
        begunWithResult(
          exchange,
          jobs,
          await snapshots.restoreNode(projects.find(id), wanted, nodeId),
          (text) => text,
        ),
    }),
    route({
      method: 'POST',
      path: `${one}/verify`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary:
        'Begin to read all of a snapshot; the result of the job says whether it is whole, and what is damaged',
      params,
      answers: { 202: begunJob },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, exchange }) =>
        begunWithResult(exchange, jobs, await snapshots.verify(projects.find(id), wanted), (damaged) =>
          JSON.stringify({
            snapshot_id: wanted,
            is_whole: damaged.length === 0,
            faults: damaged.length,
            damaged: damaged.slice(0, MOST_DAMAGED),
          }),
        ),
    }),
    route({
      method: 'GET',
      path: `${one}/diff`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Compare the open project with the snapshot',
      params,
      answers: { 200: comparison },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, exchange }) =>
        json(200, await snapshots.compare(projects.find(id), wanted, exchange)),
    }),
    route({
      method: 'GET',
      path: `${one}/diff/file`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show the lines in which a file of the open project differs from that in the snapshot',
      params,
      query: z.strictObject({ path: text(1, 4096) }),
      answers: { 200: fileChange },
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, query: { path }, exchange }) => {
        const { isCut, before, after, hunks, ...change } = await snapshots.compareFile(
          projects.find(id),
          wanted,
          path,
          exchange,
        );
        return json(200, {
          path,
          ...change,
          before: before ?? null,
          after: after ?? null,
          hunks,
          is_cut: isCut,
        });
      },
    }),
  ];
}

/** Snapshots of projects: those of the GNS3 interface, and what this server can do with them besides. */
import type { FileThreads } from '../http/file-source.js';
import { z } from 'zod';
import { empty, json, jsonText } from '../http/answer.js';
import { attachmentHeader } from '../http/headers.js';
import { FILE_ANSWERS, FILE_HEADERS, sendFile } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import { text, uuid } from '../lab/gns3-file/topology-schema.js';
import type { ProjectArchives } from '../snapshots/projects/project-archives.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { ARCHIVE, sendArchive } from './archive-answer.js';
import { node } from './shapes/nodes.js';
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
const verdict = z.strictObject({
  snapshot_id: uuid,
  is_whole: z.boolean(),
  damaged: z.array(z.strictObject({ path: z.string(), reason: z.string() })),
});
const number = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a whole number')
  .transform(Number);

export function snapshotRoutes(
  { projects }: Controller,
  snapshots: Snapshots,
  archives: ProjectArchives,
  files: FileThreads,
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
      }) => {
        const wanted = running === 'true' ? { isLong: hold === 'long' } : undefined;
        return json(201, await snapshots.create(projects.find(id), name, description, wanted));
      },
    }),
    route({
      method: 'DELETE',
      path: all,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete snapshots, except the newest and the young ones',
      params: ofProject,
      query: z
        .strictObject({ keep: number.optional(), older_than: number.optional() })
        .refine(({ keep, older_than }) => keep !== undefined || older_than !== undefined, {
          message:
            'give the number of snapshots to keep (keep), the age from which they may go (older_than, in seconds), or both',
        }),
      answers: { 200: z.array(snapshot) },
      handle: async ({ params: { project_id: id }, query: { keep, older_than: olderThan } }) =>
        json(200, await snapshots.prune(projects.find(id), { keep, olderThan })),
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
      handle: async ({ params: { project_id: id, snapshot_id: wanted } }) => {
        await snapshots.delete(projects.find(id), wanted);
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
        const client = {
          address: exchange.address,
          breakOff: () => {
            exchange.breakOff();
          },
        };
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
        const archive = await archives.exports.beginSnapshot(found, kept, client);
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
      handle: async ({ params: { project_id: id, snapshot_id: wanted } }) =>
        jsonText(201, await snapshots.restore(projects.find(id), wanted)),
    }),
    route({
      method: 'POST',
      path: `${one}/nodes/{node_id}/restore`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Restore one node with its files and its links; nothing else is changed',
      params: names('project_id', 'snapshot_id', 'node_id'),
      answers: { 201: node },
      handle: async ({ params: { project_id: id, snapshot_id: wanted, node_id: nodeId } }) =>
        jsonText(201, await snapshots.restoreNode(projects.find(id), wanted, nodeId)),
    }),
    route({
      method: 'POST',
      path: `${one}/verify`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Verify a snapshot: read all of it and list what is damaged',
      params,
      answers: { 200: verdict },
      handle: async ({ params: { project_id: id, snapshot_id: wanted } }) => {
        const damaged = await snapshots.verify(projects.find(id), wanted);
        return json(200, { snapshot_id: wanted, is_whole: damaged.length === 0, damaged });
      },
    }),
    route({
      method: 'GET',
      path: `${one}/diff`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Compare the open project with the snapshot',
      params,
      answers: { 200: comparison },
      handle: async ({ params: { project_id: id, snapshot_id: wanted } }) =>
        json(200, await snapshots.compare(projects.find(id), wanted)),
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
      handle: async ({ params: { project_id: id, snapshot_id: wanted }, query: { path } }) => {
        const { isCut, before, after, hunks, ...change } = await snapshots.compareFile(
          projects.find(id),
          wanted,
          path,
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

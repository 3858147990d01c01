/** Downloads and uploads of node folders of open projects, as tar archives. */
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { FileThreads } from '../http/file-source.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { z } from 'zod';
import { receiveFile, RECEIVING_HEADERS } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import { TarStream, type TarEntry } from '../http/tar-stream.js';
import type { Controller } from '../lab/controller.js';
import type { NodeArchives } from '../files/node-files/node-archives.js';
import type { FolderEntry } from '../files/node-files/node-file-tasks.js';
import { nodeArchiveLanding, nodeFiles, type NodeFile } from '../files/node-files/node-folder.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { missing } from './node-files.js';
import { names } from './schemas.js';

const tag = 'Node files';
const TAR = 'application/x-tar';
const MOST_PACKED = 100_000;

export function nodeArchiveRoutes(
  { projects }: Controller,
  transfers: Transfers,
  archives: NodeArchives,
  files: FileThreads & TaskRunner<NodeFileTasks>,
): Route[] {
  const path = '/v2/projects/{project_id}/nodes/{node_id}/files.tar';
  const params = names('project_id', 'node_id');
  const query = z.strictObject({ folder: z.string().max(4096).default('') });
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Download the files of a node, or of a folder in it, as one tar archive',
      params,
      query,
      answers: { 200: { media: TAR } },
      handle: async ({ params: wanted, query: { folder }, exchange }) => {
        const project = projects.find(wanted.project_id);
        const place = nodeFiles(project, wanted.node_id, folder);
        exchange.atEnd(project.hold());
        const found = await files
          .run('listNodeFiles', { ...place, isRecursive: true, limit: MOST_PACKED })
          .catch((error: unknown) => {
            throw missing(error, 'GET', project.id, place);
          });
        return exchange.streamTail(TAR, new TarStream(files, members(place, found)));
      },
    }),
    route({
      method: 'POST',
      path,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Unpack a tar archive into the folder of a node, or into a folder in it, whole or not at all',
      params,
      query,
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: { 201: null },
      handle: async ({ params: wanted, query: { folder }, exchange }) => {
        const project = projects.find(wanted.project_id);
        const place = nodeFiles(project, wanted.node_id, folder);
        const landing = nodeArchiveLanding(project, wanted.node_id, place.path, `${randomUUID()}.tar`);
        // The project is held until the archive is unpacked, even when the client has gone.
        const release = project.hold();
        try {
          const answer = await receiveFile(exchange, transfers, landing, 201);
          await archives.unpack(project, place, landing.path);
          return answer;
        } finally {
          release();
        }
      },
    }),
  ];
}

/** The files, and the folders in which none of them lie, by their paths in the packed folder. */
function members({ root, folder, path: packed }: NodeFile, found: readonly FolderEntry[]): TarEntry[] {
  const kept = found.filter(({ type }) => type !== 'other');
  const parents = new Set(kept.map(({ path }) => posix.dirname(path)));
  return kept.flatMap(({ path, type, modifiedMs, isExecutable }): TarEntry[] => {
    const memberPath = packed === '' ? path : path.slice(packed.length + 1);
    if (type === 'file') return [{ root, folder, path, memberPath, isExecutable }];
    return parents.has(path) ? [] : [{ memberPath, modifiedMs }];
  });
}

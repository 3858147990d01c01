/** Files of a project, as computes serve them. A project of the controller has one folder for both interfaces. */
import { join } from 'node:path';
import type { PortCaptures } from '../captures/port-captures.js';
import type { FileThreads } from '../http/file-source.js';
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import { json } from '../http/answer.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  receiveFile,
  RECEIVING_HEADERS,
  sendFile,
} from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import { folderLanding } from '../files/transfer/landing.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { findProject } from './compute-ids.js';
import { readProjectFile, writeProjectFile } from './project-files.js';
import { names } from './schemas.js';

const tag = 'Compute project files';

export function computeFileRoutes(
  compute: LocalCompute,
  transfers: Transfers,
  files: FileThreads,
  captures: PortCaptures,
): Route[] {
  const all = '/v2/compute/projects/{project_id}/files';
  const one = `${all}/{path:.+}`;
  const params = names('project_id', 'path');
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'compute' },
      summary: 'List the files, with their digests',
      params: names('project_id'),
      answers: { 200: z.array(z.strictObject({ md5sum: z.string(), path: z.string() })) },
      handle: async ({ params: wanted, exchange }) => {
        const { id, folder } = findProject(compute, wanted.project_id);
        const cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
        exchange.atEnd(() => {
          Atomics.store(cancelled, 0, 1);
        });
        await compute.folders.ownerOf(id)?.flush();
        return json(200, await compute.fileLists.list(folder, cancelled));
      },
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      access: { right: 'compute' },
      summary: 'Read a file',
      params,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: ({ params: wanted, exchange }) => {
        const { id, folder } = findProject(compute, wanted.project_id);
        const owner = compute.folders.ownerOf(id);
        if (owner !== undefined) return readProjectFile(exchange, files, owner, wanted.path);
        const most = captures.wholeBytesOf(join(folder, wanted.path));
        return sendFile(exchange, files, { root: folder, path: wanted.path, most });
      },
    }),
    route({
      method: 'POST',
      path: one,
      tag,
      access: { right: 'compute' },
      summary: 'Write a file, whole or not at all; missing folders are made',
      params,
      body: 'raw',
      headers: RECEIVING_HEADERS,
      answers: { 201: null },
      handle: ({ params: wanted, exchange }) => {
        const project = findProject(compute, wanted.project_id);
        const { id, folder } = project;
        const owner = compute.folders.ownerOf(id);
        if (owner !== undefined) return writeProjectFile(exchange, transfers, owner, wanted.path, true);
        const subject = { project_id: id, path: wanted.path };
        const landing = folderLanding(folder, wanted.path, subject, true);
        const takeRoom = (bytes: number): Promise<() => void> => project.takeRoom(bytes);
        return receiveFile(exchange, transfers, { ...landing, takeRoom }, 201);
      },
    }),
  ];
}

/** Files in the folders of nodes of open projects. */
import type { NodeFileTasks } from '../files/node-files/node-file-tasks.js';
import type { FileThreads } from '../http/file-source.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { posix } from 'node:path';
import { z } from 'zod';
import { isRefusal, Refusal, refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  receiveFile,
  RECEIVING_HEADERS,
  sendFile,
} from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { FolderEntry } from '../files/node-files/node-file-tasks.js';
import {
  farNodeFile,
  nodeFile,
  nodeFileLanding,
  nodeFiles,
  type NodeFile,
} from '../files/node-files/node-folder.js';
import type { Project } from '../lab/projects/project.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { rangeHeaders, receiveFarFile, sendFarFile } from './far-bodies.js';
import { names } from './schemas.js';

const tag = 'Node files';
const MOST_LISTED = 10_000;
/** The latest time that a Date can hold. */
const LATEST_MS = 8.64e15;

const entry = z.strictObject({
  modified: z.string(),
  path: z.string(),
  size: z.int(),
  type: z.enum(['file', 'folder', 'other']),
});
const folder = z.string().max(4096).default('');
const recursive = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

export function nodeFileRoutes(
  controller: Controller,
  transfers: Transfers,
  files: FileThreads & TaskRunner<NodeFileTasks>,
): Route[] {
  const base = '/v2/projects/{project_id}/nodes/{node_id}/files';
  const one = `${base}/{path:.+}`;
  const node = names('project_id', 'node_id');
  const file = names('project_id', 'node_id', 'path');
  return [
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the files of a node, or of a folder in it',
      params: node,
      query: z.strictObject({ folder, recursive }),
      answers: { 200: z.array(entry) },
      handle: async ({ params, query }) => {
        const project = controller.projects.find(params.project_id);
        const place = nodeFiles(project, params.node_id, query.folder);
        const wanted = { ...place, isRecursive: query.recursive, limit: MOST_LISTED };
        const found = await files.run('listNodeFiles', wanted).catch((error: unknown) => {
          throw missing(error, 'GET', project.id, place);
        });
        return json(200, found.map(listed));
      },
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Read a file of a node',
      params: file,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: async ({ params, exchange }) => {
        const project = controller.projects.find(params.project_id);
        const far = farNodeFile(project, params.node_id, params.path);
        if (far !== undefined) {
          exchange.atEnd(project.hold());
          const headers = rangeHeaders(exchange);
          const answer = await far.node
            .open({ method: 'GET', path: far.target, headers })
            .catch((error: unknown) => {
              throw isMissingThere(error) ? fileMissing('GET', project.id, far) : error;
            });
          return sendFarFile(exchange, answer, 'application/octet-stream');
        }
        const place = nodeFile(project, params.node_id, params.path);
        exchange.atEnd(project.hold());
        try {
          return await sendFile(exchange, files, { ...place, media: 'application/octet-stream' });
        } catch (error) {
          throw unread(error, project, params.node_id, place);
        }
      },
    }),
    route({
      method: 'POST',
      path: one,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Write a file of a node, whole or not at all; missing folders are made',
      params: file,
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: { 201: null },
      handle: ({ params, exchange }) => {
        const project = controller.projects.find(params.project_id);
        const far = farNodeFile(project, params.node_id, params.path);
        if (far !== undefined) {
          exchange.atEnd(project.hold());
          return receiveFarFile(exchange, far.node, far.target);
        }
        const landing = nodeFileLanding(project, params.node_id, params.path);
        return receiveFile(exchange, transfers, landing, 201);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete a file of a node or an empty folder; with recursive=true, any folder',
      params: file,
      query: z.strictObject({ recursive }),
      answers: { 204: null },
      handle: async ({ params, query }) => {
        const project = controller.projects.find(params.project_id);
        const place = nodeFile(project, params.node_id, params.path);
        const input = { ...place, isRecursive: query.recursive };
        await project.gate
          .pass(() => files.run('removeNodeFile', input))
          .catch((error: unknown) => {
            throw missing(error, 'DELETE', project.id, place);
          });
        return empty(204);
      },
    }),
  ];
}

function listed({ path, type, size, modifiedMs }: FolderEntry): z.output<typeof entry> {
  return { modified: new Date(Math.min(modifiedMs, LATEST_MS)).toISOString(), path, size, type };
}

/** The error of a file that cannot be read, in the words of the client's request. */
function unread(error: unknown, project: Project, nodeId: string, file: NodeFile): unknown {
  // When a part of the path is a file, nothing can be at the path.
  if (isRefusal(error, 'not_directory')) return fileMissing('GET', project.id, file);
  if (!isRefusal(error, 'is_directory')) return missing(error, 'GET', project.id, file);
  const listing = `/v2/projects/${project.id}/nodes/${nodeId}/files?folder=${encodeURIComponent(file.path)}`;
  return refusals.nodeFileIsFolder(file.path, listing);
}

/** An error which says that the file is missing, in the words of the client's request; any other error as it is. */
export function missing(error: unknown, method: string, projectId: string, file: NodeFile): unknown {
  return isRefusal(error, 'file_missing') ? fileMissing(method, projectId, file) : error;
}

function isMissingThere(error: unknown): boolean {
  return error instanceof Refusal && isRefusal(error, 'compute_refused') && error.status === 404;
}

function fileMissing(
  method: string,
  projectId: string,
  { folder, path }: Pick<NodeFile, 'folder' | 'path'>,
): Refusal {
  return refusals.nodeFileMissing(method, projectId, posix.join(folder, path));
}

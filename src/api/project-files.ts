/** Files of a project's folder. The topology file is ours to write while the project is open. */
import { refusals } from '../errors.js';
import { receiveFile, sendFile } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { Farm } from '../lab/farm.js';
import { posix } from 'node:path';
import { names } from './schemas.js';

const tag = 'Project files';

export function projectFileRoutes(farm: Farm): Route[] {
  const path = '/v2/projects/{project_id}/files/{path:.+}';
  const params = names('project_id', 'path');
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Read a file',
      params,
      answers: { 200: { media: 'application/octet-stream' } },
      handle: async ({ params: wanted, exchange }) => {
        const project = farm.projects.find(wanted.project_id);
        exchange.atEnd(project.hold());
        const { folder, filename } = project.place;
        if (posix.normalize(wanted.path) === filename) await project.flush();
        return sendFile(exchange, farm.files, { root: folder, path: wanted.path });
      },
    }),
    route({
      method: 'POST',
      path,
      tag,
      summary: 'Write a file, which is there whole or not at all',
      params,
      body: 'raw',
      answers: { 201: null },
      handle: ({ params: wanted, exchange }) => {
        const project = farm.projects.find(wanted.project_id);
        const { folder, filename } = project.place;
        if (project.isOpen && posix.normalize(wanted.path) === filename)
          throw refusals.topologyFileOpen(filename);
        exchange.atEnd(project.hold());
        return receiveFile(exchange, farm.files, { root: folder, path: wanted.path }, 201);
      },
    }),
  ];
}

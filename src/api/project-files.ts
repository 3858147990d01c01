/** Files of a project's folder. */

import type { Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  receiveFile,
  RECEIVING_HEADERS,
  sendFile,
} from '../http/file-transfer.js';
import type { FileThreads } from '../http/file-source.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { join, resolve } from 'node:path';
import type { Project } from '../lab/projects/project.js';
import { folderLanding } from '../files/transfer/landing.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { names } from './schemas.js';

const tag = 'Project files';

export function projectFileRoutes(controller: Controller, transfers: Transfers, files: FileThreads): Route[] {
  const path = '/v2/projects/{project_id}/files/{path:.+}';
  const params = names('project_id', 'path');
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Read a file',
      params,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: ({ params: wanted, exchange }) =>
        readProjectFile(exchange, files, controller.projects.find(wanted.project_id), wanted.path),
    }),
    route({
      method: 'POST',
      path,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Write a file, whole or not at all',
      params,
      body: 'raw',
      headers: RECEIVING_HEADERS,
      answers: { 201: null },
      handle: ({ params: wanted, exchange }) =>
        writeProjectFile(
          exchange,
          transfers,
          controller.projects.find(wanted.project_id),
          wanted.path,
          false,
        ),
    }),
  ];
}

export async function readProjectFile(
  exchange: Exchange,
  files: FileThreads,
  project: Project,
  path: string,
): Promise<Answer> {
  exchange.atEnd(project.hold());
  if (isTopologyFile(project, path)) await project.flush();
  return sendFile(exchange, files, { root: project.place.folder, path });
}

export function writeProjectFile(
  exchange: Exchange,
  transfers: Transfers,
  project: Project,
  path: string,
  makesFolders: boolean,
): Promise<Answer> {
  const { folder } = project.place;
  const subject = { project_id: project.id, path };
  const landing = folderLanding(folder, path, subject, makesFolders);
  const home = {
    takeRoom: (bytes: number) => project.takeRoom(bytes),
    hold: () => project.hold(),
    turn: <Result>(work: () => Promise<Result>) => project.gate.pass(work),
  };
  return receiveFile(exchange, transfers, { ...landing, ...home }, 201);
}

/** Whether the path leads to the topology file, whatever its spelling. */
function isTopologyFile({ place: { folder, filename } }: Project, path: string): boolean {
  return resolve(folder, path) === join(folder, filename);
}

/** Exports and imports of projects, as archives that GNS3 reads and writes, and duplicates of projects. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { jsonText } from '../http/answer.js';
import type { FileThreads } from '../http/file-source.js';
import { FILE_ANSWERS, FILE_HEADERS, receiveFile, RECEIVING_HEADERS } from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { Grants } from '../lab/access/grants.js';
import type { Controller } from '../lab/controller.js';
import { text } from '../lab/gns3-file/topology-schema.js';
import type { ProjectArchives } from '../snapshots/projects/project-archives.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { ARCHIVE, sendArchive } from './archive-answer.js';
import { claimOf, newProject } from './projects.js';
import { project } from './shapes/projects.js';
import { names } from './schemas.js';

const tag = 'Projects';
const COMPRESSIONS = ['none', 'zip', 'bzip2', 'lzma'] as const;

/** GNS3 takes `yes` for true, and every other text for false. */
const choice = z
  .string()
  .optional()
  .transform((given) => given?.toLowerCase() === 'yes');

/** The keys of a new project of which only the name and the place count here. */
const duplicated = z.strictObject({
  ...newProject.partial().shape,
  reset_mac_addresses: z.boolean().optional(),
});

export function projectArchiveRoutes(
  { projects }: Controller,
  grants: Grants,
  archives: ProjectArchives,
  transfers: Transfers,
  files: FileThreads,
): Route[] {
  const one = names('project_id');
  return [
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/export',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Export a project, open or closed, as an archive that GNS3 reads; it is made while it is sent',
      params: one,
      query: z.object({
        include_snapshots: choice,
        include_memory: choice,
        include_images: choice,
        reset_mac_addresses: choice,
        keep_compute_ids: choice,
        compression: z.string().default('zip'),
      }),
      headers: FILE_HEADERS,
      answers: { ...FILE_ANSWERS, 200: { media: ARCHIVE }, 206: { media: ARCHIVE } },
      handle: async ({ params, query, exchange }) => {
        const found = projects.find(params.project_id);
        const wish = {
          includesSnapshots: query.include_snapshots,
          includesMemory: query.include_memory,
          includesImages: query.include_images,
          resetsAddresses: query.reset_mac_addresses,
          keepsComputes: query.keep_compute_ids,
        };
        const compression = compressionOf(query.compression);
        const archive = await archives.exports.begin(found, wish, compression, exchange);
        return sendArchive(exchange, files, archive, `${found.name}.gns3project`);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/import',
      tag,
      access: { right: 'projects:write' },
      summary: 'Import an archive as a project with this id; the body is the archive itself or a form',
      params: one,
      query: z.object({ name: text(0, 255).optional(), path: text(0, 4096).optional() }),
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: { 201: project },
      handle: async ({ params: { project_id: id }, query: { name = '', path = '' }, exchange }) => {
        const claim = claimOf(grants, exchange.caller);
        const wish = { id, name: name === '' ? undefined : name, path: path === '' ? null : path, claim };
        const landing = archives.imports.landing(wish);
        await receiveFile(exchange, transfers, landing, 201);
        return jsonText(201, await archives.imports.import(wish, landing, exchange));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/duplicate',
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'view' },
      summary: 'Duplicate a project, open or closed, with its files and snapshots',
      params: one,
      body: duplicated,
      answers: { 201: project },
      handle: async ({ params, body: { name, path = null, reset_mac_addresses: resets }, exchange }) => {
        const original = projects.find(params.project_id);
        if (path !== null) projects.checkPath(path);
        const claim = claimOf(grants, exchange.caller);
        const wish = { name: name ?? original.name, path, resetsAddresses: resets ?? false, claim };
        return jsonText(201, await archives.copies.duplicate(original, wish, exchange));
      },
    }),
  ];
}

function compressionOf(given: string): (typeof COMPRESSIONS)[number] {
  const found = COMPRESSIONS.find((known) => known === given);
  if (found === undefined) throw refusals.exportCompression(given);
  return found;
}

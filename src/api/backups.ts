/** Backups of the whole server. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import type { FileThreads } from '../http/file-source.js';
import { route, type Route } from '../http/route.js';
import { TarStream } from '../http/tar-stream.js';
import { attachmentHeader } from '../http/headers.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import { EXTRAS } from '../operations/backup/backup-form.js';
import type { Backups } from '../operations/backup/backups.js';
import { names, nothing } from './schemas.js';
import { backupList } from './shapes/backups.js';
import { begunJobAnswer } from './begun-job.js';
import { begunJob } from './shapes/jobs.js';

const PATH = '/v2/admin/backups';
const TAR = 'application/x-tar';
const tag = 'Operations';
const access = { right: 'admin' } as const;
const params = names('backup_id');
/** A comma-separated list of what is to come in besides. */
const begun = z.object({
  with: z
    .string()
    .max(100)
    .default('')
    .transform((list) => [...new Set(list.split(','))].filter((word) => word !== ''))
    .pipe(z.array(z.enum(EXTRAS))),
});

export function backupRoutes(backups: () => Backups, files: FileThreads): Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      tag,
      access,
      summary: 'List the backups, the oldest first',
      params: nothing,
      answers: { 200: backupList },
      handle: async () => json(200, await backups().list()),
    }),
    route({
      method: 'POST',
      path: PATH,
      tag,
      access,
      summary:
        'Begin to make a backup of all projects, records, images and symbols, unless one waits already',
      params: nothing,
      query: begun,
      answers: { 202: z.strictObject({ backup_id: uuid, job_id: uuid }) },
      handle: ({ query, exchange }) => {
        const { backupId, jobId } = backups().create(query.with);
        exchange.jobId = jobId;
        return json(202, { backup_id: backupId, job_id: jobId });
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/{backup_id}`,
      tag,
      access,
      summary: 'Download a backup, named as ID.tar, as one archive, which wirefarm restore takes',
      params,
      answers: { 200: { media: TAR } },
      handle: async ({ params: { backup_id: name }, exchange }) => {
        const [, id = ''] = /^(.*)\.tar$/.exec(name) ?? [];
        const { members, release } = await backups().members(id);
        exchange.atEnd(release);
        return exchange.streamTail(TAR, new TarStream(files, members), [attachmentHeader(`backup-${name}`)]);
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/{backup_id}/verify`,
      tag,
      access,
      summary: 'Begin to read all of a backup; the list of backups tells what of it is damaged',
      params,
      answers: { 202: begunJob },
      handle: async ({ params: { backup_id: id }, exchange }) =>
        begunJobAnswer(exchange, await backups().verify(id)),
    }),
    route({
      method: 'DELETE',
      path: `${PATH}/{backup_id}`,
      tag,
      access,
      summary: 'Begin to delete a backup, and what no other one needs',
      params,
      answers: { 202: begunJob },
      handle: async ({ params: { backup_id: id }, exchange }) =>
        begunJobAnswer(exchange, await backups().delete(id)),
    }),
  ];
}

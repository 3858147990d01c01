/** Resumable uploads by the tus protocol 1.0, and the list of all running uploads. */
import { z } from 'zod';
import { isRefusal, Refusal, refusals } from '../base/errors/errors.js';
import { empty, json, jsonText, type Answer, type Headers } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { errorAnswer, errorHeaders } from '../http/error-body.js';
import type { Exchange } from '../http/exchange.js';
import { RAW_BODY_HEADERS, RawBody } from '../http/raw-body.js';
import { route, type Route, type RouteRequest } from '../http/route.js';
import type { ResumableUpload } from '../files/uploads/resumable-upload.js';
import {
  parseChecksum,
  parseMetadata,
  parseOctets,
  TUS_CHECKSUMS,
  TUS_EXTENSIONS,
  TUS_VERSION,
} from '../files/uploads/tus-headers.js';
import { promisedDigests, targetOf } from '../files/uploads/upload-request.js';
import type { Uploads } from '../files/uploads/uploads.js';
import { names, nothing } from './schemas.js';

const tag = 'Uploads';
const base = '/v2/uploads';
const one = names('upload_id');
const MEDIA = 'application/offset+octet-stream';

const VERSION = 'tus-resumable';
const BODY_HEADERS = [...RAW_BODY_HEADERS, 'content-type', 'transfer-encoding', 'upload-checksum'];
const CREATION_HEADERS = [
  VERSION,
  ...BODY_HEADERS,
  'upload-concat',
  'upload-defer-length',
  'upload-length',
  'upload-metadata',
];
const PATCH_HEADERS = [VERSION, ...BODY_HEADERS, 'upload-offset'];

const uploadView = z.strictObject({
  emulator: z.string().optional(),
  expires_at: z.string().nullable(),
  filename: z.string().optional(),
  node_id: z.string().optional(),
  path: z.string().optional(),
  project_id: z.string().optional(),
  protocol: z.enum(['tus', 'http']),
  rate: z.int(),
  received: z.int(),
  size: z.int().nullable(),
  started_at: z.string(),
  state: z.enum(['receiving', 'waiting', 'landing', 'finished']),
  symbol: z.string().optional(),
  upload_id: z.string(),
});

const RESUMABLE: Headers = [['Tus-Resumable', TUS_VERSION]];
const CAPABILITIES: Headers = [
  ['Tus-Version', TUS_VERSION],
  ['Tus-Extension', TUS_EXTENSIONS],
  ['Tus-Checksum-Algorithm', TUS_CHECKSUMS],
];

type UploadRequest = RouteRequest<{ upload_id: string }, unknown, unknown>;

export function uploadRoutes(uploads: Uploads): Route[] {
  const patch = ({ params, exchange }: UploadRequest): Promise<Answer> =>
    receiving(exchange, async (body) => {
      if (exchange.headers['content-type'] !== MEDIA) throw refusals.uploadMediaType(MEDIA);
      const offset = parseOctets('Upload-Offset', exchange.headers['upload-offset'] ?? '');
      const checksum = parseChecksum(exchange.headers['upload-checksum'] ?? '');
      const upload = uploads.find(params.upload_id);
      await upload.append(offset, body, checksum);
      return empty(204, [['Upload-Offset', String(upload.received)], ...expiry(upload)]);
    });
  const remove = ({ params, exchange }: UploadRequest): Promise<Answer> =>
    answered(exchange, async () => {
      await uploads.find(params.upload_id).remove();
      return empty(204);
    });

  return [
    route({
      method: 'OPTIONS',
      path: base,
      tag,
      access: 'signed in',
      summary: 'Show the supported parts of the tus protocol',
      params: nothing,
      answers: { 204: null },
      handle: () => empty(204, [...RESUMABLE, ...CAPABILITIES]),
    }),
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'images:read' },
      summary: 'List the running uploads',
      params: nothing,
      answers: { 200: z.array(uploadView) },
      handle: ({ exchange: { caller } }) => {
        const seen = uploads.list().filter((upload) => isSeen(caller, upload));
        return json(200, seen);
      },
    }),
    route({
      method: 'POST',
      path: base,
      tag,
      access: { right: 'images:write' },
      summary: 'Begin a resumable upload (tus creation, also with the first bytes)',
      params: nothing,
      headers: CREATION_HEADERS,
      body: 'raw',
      answers: { 201: null },
      handle: ({ exchange }) =>
        receiving(exchange, async (body) => {
          const { headers } = exchange;
          for (const name of ['Upload-Defer-Length', 'Upload-Concat'])
            if ((headers[name.toLowerCase()] ?? '') !== '') throw refusals.uploadExtension(name);
          const hasBytes = body.length === undefined ? headers['transfer-encoding'] !== '' : body.length > 0;
          if (hasBytes && headers['content-type'] !== MEDIA) throw refusals.uploadMediaType(MEDIA);
          const size = parseOctets('Upload-Length', headers['upload-length'] ?? '');
          const metadata = headers['upload-metadata'] ?? '';
          const entries = parseMetadata(metadata);
          const wish = {
            size,
            metadata,
            target: targetOf(entries),
            digests: promisedDigests(entries),
            client: body.client,
          };
          const checksum = parseChecksum(headers['upload-checksum'] ?? '');
          const upload = await uploads.create(wish, hasBytes ? body : undefined, checksum);
          return empty(201, [
            ['Location', `${base}/${upload.id}`],
            ['Upload-Offset', String(upload.received)],
            ...expiry(upload),
          ]);
        }),
    }),
    route({
      method: 'GET',
      path: `${base}/{upload_id}`,
      tag,
      access: { right: 'images:read' },
      summary:
        'Show an upload; HEAD returns the offset of a resumable one, and ends a request that still sends to it',
      params: one,
      headers: [VERSION],
      answers: { 200: uploadView },
      handle: ({ params, exchange }) => {
        const upload = (): ResumableUpload => {
          const found = uploads.find(params.upload_id);
          if (!isSeen(exchange.caller, found.subject)) throw refusals.uploadUnknown(params.upload_id);
          return found;
        };
        if (exchange.method !== 'HEAD') {
          const headers = [...RESUMABLE, ...facts(upload())];
          return jsonText(200, JSON.stringify(uploads.view(upload())), headers);
        }
        return answered(exchange, async () => {
          await upload().settle();
          return empty(200, facts(upload()));
        });
      },
    }),
    route({
      method: 'PATCH',
      path: `${base}/{upload_id}`,
      tag,
      access: { right: 'images:write' },
      summary: 'Send the next bytes of a resumable upload; the last bytes complete it',
      params: one,
      headers: PATCH_HEADERS,
      body: 'raw',
      answers: { 204: null },
      handle: patch,
    }),
    route({
      method: 'DELETE',
      path: `${base}/{upload_id}`,
      tag,
      access: { right: 'images:write' },
      summary: 'Cancel a resumable upload',
      params: one,
      headers: [VERSION],
      answers: { 204: null },
      handle: remove,
    }),
    route({
      method: 'POST',
      path: `${base}/{upload_id}`,
      tag,
      access: { right: 'images:write' },
      summary: 'Do what X-HTTP-Method-Override says, PATCH or DELETE, for clients that cannot send these',
      params: one,
      headers: [...PATCH_HEADERS, 'x-http-method-override'],
      body: 'raw',
      answers: { 204: null },
      handle: (request) => {
        const { headers, path } = request.exchange;
        const method = (headers['x-http-method-override'] ?? '').toUpperCase();
        if (method === 'PATCH') return patch(request);
        if (method === 'DELETE') return remove(request);
        throw refusals.methodUnknown(method === '' ? 'POST' : method.slice(0, 100), path);
      },
    }),
  ];
}

/** Whether the caller may know of it: images are for all, and files of nodes for those who see the project. */
function isSeen(caller: Caller, target: object): boolean {
  if (!('project_id' in target) || typeof target.project_id !== 'string') return true;
  return caller.grantOn(target.project_id) !== undefined;
}

function expiry({ expiresAt }: ResumableUpload): Headers {
  return [['Upload-Expires', new Date(expiresAt).toUTCString()]];
}

function facts(upload: ResumableUpload): Headers {
  return [
    ['Upload-Offset', String(upload.received)],
    ['Upload-Length', String(upload.size)],
    ...(upload.metadata === '' ? [] : [['Upload-Metadata', upload.metadata] as const]),
    ...expiry(upload),
    ['Cache-Control', 'no-store'],
  ];
}

/** Handles a request of the protocol that has a body. When it is refused, the rest of the body is drained. */
function receiving(exchange: Exchange, handle: (body: RawBody) => Promise<Answer>): Promise<Answer> {
  const body = new RawBody(exchange);
  return answered(exchange, async () => {
    try {
      return await handle(body);
    } catch (error) {
      await body.drain();
      throw error;
    }
  });
}

/** Adds the version of the protocol to every answer, also to refusals. */
async function answered(exchange: Exchange, handle: () => Promise<Answer>): Promise<Answer> {
  try {
    if (exchange.headers[VERSION] !== TUS_VERSION) throw refusals.uploadVersion(TUS_VERSION);
    const answer = await handle();
    if (answer === 'streamed') return answer;
    return { ...answer, headers: [...RESUMABLE, ...(answer.headers ?? [])] };
  } catch (error) {
    if (!(error instanceof Refusal) || exchange.isGone) throw error;
    const { status, json: text } = errorAnswer(error, exchange);
    return jsonText(status, text, [
      ...RESUMABLE,
      ...errorHeaders(error, exchange),
      ...(isRefusal(error, 'upload_version_unsupported') ? CAPABILITIES : []),
    ]);
  }
}

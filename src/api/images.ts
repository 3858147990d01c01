/** Images, as computes serve them and by way of the controller (contract A4), and their removal. */
import { z } from 'zod';
import { refusals } from '../errors.js';
import { empty, json, type Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  RECEIVING_HEADERS,
  receiveFile,
  sendFile,
} from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import type { ImageLibrary } from '../images/image-library.js';
import { EMULATORS, isEmulator, type Emulator } from '../images/image-name.js';
import type { Farm } from '../lab/farm.js';
import type { Transfers } from '../transfer/transfers.js';
import { names, nothing } from './schemas.js';

const tag = 'Images';
/** Served by computes of other servers. */
const DOCKER = 'docker';

const image = z.strictObject({
  filename: z.string(),
  filesize: z.int(),
  md5sum: z.string().nullable(),
  path: z.string(),
});
const list = { 200: z.array(image) };
const summaries = {
  list: 'List the images, with their digests as far as they are known',
  read: 'Download an image',
  write: 'Upload an image, which is there whole or not at all',
  delete: 'Delete an image that no node uses',
};

export function imageRoutes(farm: Farm, images: ImageLibrary, transfers: Transfers): Route[] {
  return [
    ...EMULATORS.flatMap((emulator) => computeRoutes(farm, images, transfers, emulator)),
    route({
      method: 'GET',
      path: `/v2/compute/${DOCKER}/images`,
      tag,
      summary: 'Refused: there are no containers here',
      params: nothing,
      answers: { 200: z.array(z.strictObject({ image: z.string() })) },
      handle: () => {
        throw refusals.imagesNotServed(DOCKER);
      },
    }),
    ...controllerRoutes(farm, images, transfers),
  ];
}

function computeRoutes(
  { files }: Farm,
  images: ImageLibrary,
  transfers: Transfers,
  emulator: Emulator,
): Route[] {
  const all = `/v2/compute/${emulator}/images`;
  const one = `${all}/{filename:.+}`;
  const params = names('filename');
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      summary: summaries.list,
      params: nothing,
      answers: list,
      handle: async () => json(200, await images.list(emulator)),
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      summary: summaries.read,
      params,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: async ({ params: { filename }, exchange }) =>
        sendFile(exchange, files, await images.place(emulator, filename)),
    }),
    route({
      method: 'POST',
      path: one,
      tag,
      summary: summaries.write,
      params,
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: { 204: null },
      handle: ({ params: { filename }, exchange }) =>
        receiveFile(exchange, transfers, images.landing(emulator, filename), 204),
    }),
    route({
      method: 'DELETE',
      path: one,
      tag,
      summary: summaries.delete,
      params,
      answers: { 204: null },
      handle: async ({ params: { filename } }) => {
        await images.remove(emulator, filename);
        return empty(204);
      },
    }),
  ];
}

function controllerRoutes({ computes, files }: Farm, images: ImageLibrary, transfers: Transfers): Route[] {
  const all = '/v2/computes/{compute_id}/{emulator}/images';
  const one = `${all}/{filename:.+}`;
  const params = names('compute_id', 'emulator', 'filename');
  /** The emulator, when the compute is this server, and has images of it. */
  const served = (
    { method }: Exchange,
    wanted: { readonly compute_id: string; readonly emulator: string; readonly filename?: string },
  ): Emulator => {
    const { emulator, filename } = wanted;
    const request = `${method} /${emulator}/images${filename === undefined ? '' : `/${filename}`}`;
    computes.checkServed(wanted.compute_id, request);
    if (isEmulator(emulator)) return emulator;
    throw emulator === DOCKER ? refusals.imagesNotServed(DOCKER) : refusals.forwardUnknown(request);
  };
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      summary: summaries.list,
      params: names('compute_id', 'emulator'),
      answers: list,
      handle: async ({ params: wanted, exchange }) => json(200, await images.list(served(exchange, wanted))),
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      summary: summaries.read,
      params,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: async ({ params: wanted, exchange }) =>
        sendFile(exchange, files, await images.place(served(exchange, wanted), wanted.filename)),
    }),
    route({
      method: 'POST',
      path: one,
      tag,
      summary: summaries.write,
      params,
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: { 200: z.strictObject({}) },
      handle: async ({ params: wanted, exchange }) => {
        const landing = images.landing(served(exchange, wanted), wanted.filename);
        return withEmptyObject(await receiveFile(exchange, transfers, landing, 200));
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      tag,
      summary: summaries.delete,
      params,
      answers: { 204: null },
      handle: async ({ params: wanted, exchange }) => {
        await images.remove(served(exchange, wanted), wanted.filename);
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: '/v2/computes/endpoint/{compute_id}/{emulator}/{action:.+}',
      tag,
      summary: 'Where a compute is asked directly',
      params: names('compute_id', 'emulator', 'action'),
      answers: { 200: z.strictObject({ endpoint: z.string() }) },
      handle: ({ params: { compute_id: id, emulator, action } }) => {
        const path = [emulator, ...action.split('/')].map(encodeURIComponent).join('/');
        return json(200, { endpoint: `${computes.urlOf(id)}/v2/compute/${path}` });
      },
    }),
  ];
}

/** By way of the controller, clients are answered with an object. */
function withEmptyObject(answer: Answer): Answer {
  return answer === 'streamed' ? answer : json(answer.status, {});
}

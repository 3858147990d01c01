/** Images of emulators, on the compute interface and on that of the controller. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  RECEIVING_HEADERS,
  receiveFile,
  sendBody,
  sendFile,
  UNTRUSTED_CONTENT,
} from '../http/file-transfer.js';
import { FetchedSource } from '../http/fetched-source.js';
import { route, type AnswerKind, type Route } from '../http/route.js';
import { reprDigest, type ImageLibrary } from '../files/images/image-library.js';
import { EMULATORS, isEmulator, type Emulator } from '../files/images/image-name.js';
import type { FileThreads } from '../http/file-source.js';
import type { Controller } from '../lab/controller.js';
import { text } from '../lab/gns3-file/topology-schema.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { names } from './schemas.js';
import { image, imageUses } from './shapes/images.js';

const tag = 'Images';
const LONGEST_NAME = 1024;
/** So many projects are named beside an image. */
const MOST_NAMED = 20;

/** The images of an emulator at one of the two paths under which they are served. */
interface Address {
  /** The path of the list; the path of an image adds its name. */
  readonly path: string;
  /** The parameters of the path, without the name of the image. */
  readonly params: readonly ('compute_id' | 'emulator')[];
  /** The emulator that the path names. Refuses one whose images are not served here. */
  readonly emulatorOf: (exchange: Exchange, params: PathParams) => Emulator;
  /** The status that answers an upload. */
  readonly written: Readonly<Record<number, AnswerKind>>;
  /** The list of another compute than this server; undefined when the path names none. */
  readonly listElsewhere?: (params: PathParams) => Promise<unknown> | undefined;
}

type PathParams = Readonly<Partial<Record<'compute_id' | 'emulator' | 'filename', string>>>;

export function imageRoutes(
  controller: Controller,
  images: ImageLibrary,
  transfers: Transfers,
  files: FileThreads,
): Route[] {
  return [
    ...EMULATORS.flatMap((emulator) => routesAt(computeAddress(emulator), files, images, transfers)),
    ...routesAt(controllerAddress(controller), files, images, transfers),
    route({
      method: 'GET',
      path: '/v2/images/{emulator}/uses',
      tag,
      access: { right: 'images:read' },
      summary: 'Count the nodes that use each image, by its path, and name the projects that one may see',
      params: names('emulator'),
      answers: { 200: imageUses },
      handle: async ({ params: { emulator }, exchange: { caller } }) => {
        const found = await images.uses(servedEmulator(emulator));
        const shown = [...found].map(([path, byProject]) => {
          const nodes = [...byProject.values()].reduce((sum, count) => sum + count, 0);
          const seen = [...byProject.keys()].filter((id) => caller.grantOn(id) !== undefined);
          const projects = seen.slice(0, MOST_NAMED).map((id) => controller.projects.find(id).name);
          return [path, { nodes, projects }] as const;
        });
        return json(200, Object.fromEntries(shown));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/images/{emulator}/rename',
      tag,
      access: { right: 'images:write' },
      summary: 'Give an image that no node uses another name; no other image is replaced',
      params: names('emulator'),
      body: z.strictObject({ filename: text(1, LONGEST_NAME), to: text(1, LONGEST_NAME) }),
      answers: { 200: z.strictObject({ filename: z.string() }) },
      handle: async ({ params: { emulator }, body: { filename, to } }) =>
        json(200, { filename: await images.rename(servedEmulator(emulator), filename, to) }),
    }),
    route({
      method: 'POST',
      path: '/v2/images/{emulator}/pull',
      tag,
      access: { right: 'images:write' },
      summary: 'Bring an image of another server of the farm to this one, which then has a copy',
      params: names('emulator'),
      body: z.strictObject({ filename: text(1, LONGEST_NAME) }),
      answers: { 200: z.strictObject({ filename: z.string(), sha256: z.string().nullable() }) },
      handle: async ({ params: { emulator }, body: { filename } }) =>
        json(200, {
          filename,
          sha256: (await images.bring(servedEmulator(emulator), filename)) ?? null,
        }),
    }),
    route({
      method: 'GET',
      path: '/v2/computes/endpoint/{compute_id}/{emulator}/{action:.+}',
      tag,
      access: { right: 'computes:read' },
      summary: 'Show the address at which a compute can be asked directly',
      params: names('compute_id', 'emulator', 'action'),
      answers: { 200: z.strictObject({ endpoint: z.string() }) },
      handle: ({ params: { compute_id: id, emulator, action } }) => {
        const path = [emulator, ...action.split('/')].map(encodeURIComponent).join('/');
        return json(200, { endpoint: `${controller.computes.urlOf(id)}/v2/compute/${path}` });
      },
    }),
  ];
}

/** Whether another server of the farm asks for itself. */
function isOfServer({ hop }: Exchange): boolean {
  return typeof hop === 'object' && hop.pass.as === 'server';
}

function servedEmulator(name: string): Emulator {
  if (isEmulator(name)) return name;
  throw refusals.forwardUnknown(`images of ${name}`);
}

function computeAddress(emulator: Emulator): Address {
  return {
    path: `/v2/compute/${emulator}/images`,
    params: [],
    emulatorOf: () => emulator,
    written: { 204: null },
  };
}

/** The images of the compute that is this server. */
function controllerAddress({ computes }: Controller): Address {
  return {
    path: '/v2/computes/{compute_id}/{emulator}/images',
    params: ['compute_id', 'emulator'],
    emulatorOf: ({ method }, { compute_id: id = '', emulator = '', filename }) => {
      const request = `${method} /${emulator}/images${filename === undefined ? '' : `/${filename}`}`;
      computes.checkServed(id, request);
      if (isEmulator(emulator)) return emulator;
      throw refusals.forwardUnknown(request);
    },
    written: { 200: z.strictObject({}) },
    listElsewhere: ({ compute_id: id = '', emulator = '' }) =>
      computes.isOther(id)
        ? computes.ask(id, { method: 'GET', path: `/${encodeURIComponent(emulator)}/images` })
        : undefined,
  };
}

function routesAt(
  { path: all, params: inPath, emulatorOf, written, listElsewhere }: Address,
  files: FileThreads,
  images: ImageLibrary,
  transfers: Transfers,
): Route[] {
  const one = `${all}/{filename:.+}`;
  const params = names('filename', ...inPath);
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'images:read' },
      summary: 'List the images, with their digests as far as they are known',
      params: names(...inPath),
      answers: { 200: z.array(image) },
      handle: async ({ params: wanted, exchange }) =>
        json(200, (await listElsewhere?.(wanted)) ?? (await images.list(emulatorOf(exchange, wanted)))),
    }),
    route({
      method: 'GET',
      path: one,
      tag,
      access: { right: 'images:read' },
      summary: 'Download an image',
      params,
      headers: FILE_HEADERS,
      answers: FILE_ANSWERS,
      handle: async ({ params: wanted, exchange }) => {
        const emulator = emulatorOf(exchange, wanted);
        if (isOfServer(exchange)) {
          // The other servers pass over one that refuses, and lacks what it is asked for.
          exchange.atEnd(images.lend());
          return sendFile(exchange, files, await images.place(emulator, wanted.filename));
        }
        const away = await images.away(emulator, wanted.filename);
        if (away === undefined)
          return sendFile(exchange, files, await images.place(emulator, wanted.filename));
        const { size, sha256, read } = away;
        return sendBody(exchange, {
          ...{ size, tag: sha256, media: 'application/octet-stream' },
          headers: [['Repr-Digest', reprDigest(sha256)], ...UNTRUSTED_CONTENT],
          open: (start, end) => new FetchedSource(read, start, end),
          close: () => undefined,
        });
      },
    }),
    route({
      method: 'POST',
      path: one,
      tag,
      access: { right: 'images:write' },
      summary: 'Upload an image, whole or not at all',
      params,
      headers: RECEIVING_HEADERS,
      body: 'raw',
      answers: written,
      handle: async ({ params: wanted, exchange }) => {
        const landing = images.landing(emulatorOf(exchange, wanted), wanted.filename);
        const answer = await receiveFile(exchange, transfers, landing, 204);
        return 200 in written ? json(200, {}) : answer;
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      tag,
      access: { right: 'images:write' },
      summary: 'Delete an image that no node uses',
      params,
      answers: { 204: null },
      handle: async ({ params: wanted, exchange }) => {
        await images.remove(emulatorOf(exchange, wanted), wanted.filename);
        return empty(204);
      },
    }),
  ];
}

/** The version of the server, its reload and its end. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { nothing } from './schemas.js';

const tag = 'Server';
export const version = z.strictObject({ local: z.boolean(), version: z.string() });

export function versionRoutes(controller: Controller, shutdown: () => void): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/version',
      tag,
      access: 'signed in',
      summary: 'Show the GNS3 version that this server speaks',
      params: nothing,
      answers: { 200: version },
      handle: () => json(200, { local: controller.isLocal, version: controller.gns3Version }),
    }),
    route({
      method: 'GET',
      path: '/v1/version',
      tag,
      access: 'signed in',
      summary: 'Show the GNS3 version to clients that look for an older interface',
      params: nothing,
      answers: { 200: z.strictObject({ version: z.string() }) },
      handle: () => json(200, { version: controller.gns3Version }),
    }),
    route({
      method: 'POST',
      path: '/v2/version',
      tag,
      access: 'signed in',
      summary: "Compare the client's version with the server's",
      params: nothing,
      body: z.strictObject({ version: z.string().max(255), local: z.boolean().optional() }),
      answers: { 200: z.strictObject({ version: z.string() }) },
      handle: ({ body }) => {
        if (body.version !== controller.gns3Version)
          throw refusals.versionDiffers(body.version, controller.gns3Version);
        return json(200, { version: controller.gns3Version });
      },
    }),
    route({
      method: 'POST',
      path: '/v2/reload',
      tag,
      access: { right: 'admin' },
      summary: 'Look for project folders that have appeared or disappeared',
      params: nothing,
      answers: { 200: null },
      handle: async () => {
        await controller.projects.reload();
        return empty(200);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/shutdown',
      tag,
      access: { right: 'admin' },
      summary: 'Stop the server (local servers only)',
      params: nothing,
      answers: { 201: null },
      handle: ({ exchange }) => {
        if (!controller.isLocal) throw refusals.stopLocalOnly();
        // The answer must leave first, because the end of the server cuts every connection.
        exchange.atEnd(() => {
          setImmediate(shutdown);
        });
        return empty(201);
      },
    }),
  ];
}

/** Templates, and nodes made from them. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { empty, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { NodeFolders } from '../files/node-files/node-folders.js';
import type { Controller } from '../lab/controller.js';
import { coordinate, nodeType, openObject, text, uuid } from '../lab/gns3-file/topology-schema.js';
import { node } from './shapes/nodes.js';
import { names, nothing } from './schemas.js';

const tag = 'Templates';

const template = z.looseObject({
  builtin: z.boolean(),
  category: z.union([z.int(), z.enum(['router', 'switch', 'guest', 'firewall'])]),
  compute_id: z.string().nullable(),
  default_name_format: z.string(),
  name: z.string(),
  symbol: z.string(),
  template_id: uuid,
  template_type: nodeType,
});

/** The keys of all types; further keys are checked by the type. */
const newTemplate = z.looseObject({
  name: text(1, 255),
  template_type: nodeType,
  compute_id: text(1, 255).nullable(),
  template_id: uuid.optional(),
});

const usage = z.strictObject({
  x: coordinate,
  y: coordinate,
  name: text(1, 255).nullable().optional(),
  compute_id: text(1, 255).nullable().optional(),
});

export function templateRoutes(controller: Controller, folders: NodeFolders): Route[] {
  const { templates, projects, symbols } = controller;
  const one = names('template_id');
  return [
    route({
      method: 'GET',
      path: '/v2/templates',
      isFollowed: true,
      tag,
      access: { right: 'templates:read' },
      summary: 'List the templates',
      params: nothing,
      answers: { 200: z.array(template) },
      handle: () => jsonText(200, templates.list()),
    }),
    route({
      method: 'POST',
      path: '/v2/templates',
      tag,
      access: { right: 'templates:write' },
      summary: 'Create a template',
      params: nothing,
      body: newTemplate,
      answers: { 201: template },
      handle: async ({ body }) => jsonText(201, await templates.create(body)),
    }),
    route({
      method: 'GET',
      path: '/v2/templates/{template_id}',
      isFollowed: true,
      tag,
      access: { right: 'templates:read' },
      summary: 'Show a template',
      params: one,
      headers: ['if-none-match'],
      answers: { 200: template, 304: null },
      handle: ({ params, exchange }) => {
        const shown = templates.show(params.template_id);
        const tagHeader = ['ETag', `"${createHash('md5').update(shown).digest('hex')}"`] as const;
        if (exchange.headers['if-none-match'] === tagHeader[1]) return empty(304, [tagHeader]);
        return jsonText(200, shown, [tagHeader]);
      },
    }),
    route({
      method: 'PUT',
      path: '/v2/templates/{template_id}',
      tag,
      access: { right: 'templates:write' },
      summary: 'Change a template',
      params: one,
      body: openObject,
      answers: { 200: template },
      handle: async ({ params, body }) => jsonText(200, await templates.update(params.template_id, body)),
    }),
    route({
      method: 'DELETE',
      path: '/v2/templates/{template_id}',
      tag,
      access: { right: 'templates:write' },
      summary: 'Delete a template',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await templates.delete(params.template_id);
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/templates/{template_id}/duplicate',
      tag,
      access: { right: 'templates:write' },
      summary: 'Duplicate a template',
      params: one,
      answers: { 201: template },
      handle: async ({ params }) => jsonText(201, await templates.duplicate(params.template_id)),
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/templates/{template_id}',
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Create a node from a template',
      params: names('project_id', 'template_id'),
      body: usage,
      answers: { 201: node },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        const wanted = templates.nodeFrom(params.template_id, body);
        await symbols.size(wanted.symbol ?? '');
        return jsonText(201, await folders.make(project, wanted));
      },
    }),
  ];
}

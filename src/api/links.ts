/** Links of a project. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { FilterType } from '../lab/topology/link-filters.js';
import { listObjects } from '../lab/projects/project-content.js';
import {
  changeDirection,
  changeLink,
  deleteLink,
  directedFiltersOf,
  findLink,
  makeLink,
} from '../lab/topology/links.js';
import { endpoint, linkStyle, openObject, uuid } from '../lab/gns3-file/topology-schema.js';
import { linkMedium } from '../lab/kinds/port.js';
import { names } from './schemas.js';
import { directed, filterType, link, seed } from './shapes/links.js';

const tag = 'Links';

/** Keys of a link that clients read and may send back; they are checked and ignored. */
const ignored = {
  capture_compute_id: z.string().nullable().optional(),
  capture_file_name: z.string().nullable().optional(),
  capture_file_path: z.string().nullable().optional(),
  capturing: z.boolean().optional(),
  link_id: uuid.optional(),
  link_type: linkMedium.optional(),
  project_id: uuid.optional(),
};
const settable = {
  filters: openObject.optional(),
  link_style: linkStyle.optional(),
  suspend: z.boolean().optional(),
};
const ends = z.array(endpoint).max(64);
export const newLink = z.strictObject({ ...ignored, ...settable, nodes: ends });
export const changedLink = z.strictObject({ ...ignored, ...settable, nodes: ends.optional() });

/** The filters of each direction: forward is from the first end of the link to the second. */
const newDirected = z.strictObject({
  backward: openObject.optional(),
  forward: openObject.optional(),
  link_id: uuid.optional(),
  seed: seed.optional(),
});
/** `availableFilters` are the filters that this host can run. */
export function linkRoutes(
  controller: Controller,
  availableFilters: () => Promise<readonly FilterType[]>,
): Route[] {
  const { projects } = controller;
  const all = names('project_id');
  const one = names('project_id', 'link_id');
  const base = '/v2/projects/{project_id}/links';
  return [
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the links; a closed project is read from its file',
      params: all,
      answers: { 200: z.array(z.union([link, openObject])) },
      handle: async ({ params }) => {
        return jsonText(200, await listObjects(projects.find(params.project_id), 'link'));
      },
    }),
    route({
      method: 'POST',
      path: base,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Link two ports',
      params: all,
      body: newLink,
      answers: { 201: link },
      handle: async ({ params, body, exchange }) => {
        return jsonText(201, await makeLink(projects.find(params.project_id), exchange, body));
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{link_id}`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show a link',
      params: one,
      answers: { 200: link },
      handle: ({ params }) => {
        const found = projects.find(params.project_id).topology.links.published(params.link_id);
        if (found === undefined) throw refusals.linkUnknown(params.link_id);
        return jsonText(200, found);
      },
    }),
    route({
      method: 'PUT',
      path: `${base}/{link_id}`,
      tag,
      access: { right: 'run', project: 'project_id' },
      summary: 'Change filters, style, suspension or labels of a link',
      params: one,
      body: changedLink,
      answers: { 201: link },
      handle: async ({ params, body, exchange }) => {
        return jsonText(
          201,
          await changeLink(projects.find(params.project_id), exchange, params.link_id, body),
        );
      },
    }),
    route({
      method: 'DELETE',
      path: `${base}/{link_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete a link',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await projects.find(params.project_id).change((topology, transaction) => {
          deleteLink(topology, transaction, params.link_id);
        });
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{link_id}/available_filters`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the packet filters that a link can have',
      params: one,
      answers: { 200: z.array(filterType) },
      handle: async ({ params }) => {
        findLink(projects.find(params.project_id).topology, params.link_id);
        return json(200, await availableFilters());
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{link_id}/directed_filters`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show the packet filters of each direction of a link, and their seed',
      params: one,
      answers: { 200: directed },
      handle: ({ params }) =>
        json(200, directedFiltersOf(projects.find(params.project_id).topology, params.link_id)),
    }),
    route({
      method: 'PUT',
      path: `${base}/{link_id}/directed_filters`,
      tag,
      access: { right: 'run', project: 'project_id' },
      summary: 'Filter each direction by itself: these filters replace those of the whole link',
      params: one,
      body: newDirected,
      answers: { 200: directed },
      handle: async ({ params, body, exchange }) =>
        jsonText(
          200,
          await changeDirection(projects.find(params.project_id), exchange, params.link_id, body),
        ),
    }),
  ];
}

/** Drawings of a project. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { createDrawing, deleteDrawing, updateDrawing } from '../lab/topology/drawings.js';
import type { Controller } from '../lab/controller.js';
import { listObjects } from '../lab/projects/project-content.js';
import { coordinate, openObject, rotation, uuid } from '../lab/gns3-file/topology-schema.js';
import { names } from './schemas.js';
import { drawing } from './shapes/drawings.js';

const tag = 'Drawings';

const settable = {
  x: coordinate.optional(),
  y: coordinate.optional(),
  z: coordinate.optional(),
  locked: z.boolean().optional(),
  rotation: rotation.optional(),
  svg: z.string().optional(),
};
const newDrawing = z
  .strictObject({ ...settable, drawing_id: uuid.optional(), project_id: uuid.optional() })
  .transform(({ project_id, ...kept }) => kept);
const changedDrawing = z
  .strictObject({ ...settable, drawing_id: uuid.optional(), project_id: uuid.optional() })
  .transform(({ drawing_id, project_id, ...kept }) => kept);

export function drawingRoutes(controller: Controller): Route[] {
  const { projects } = controller;
  const all = names('project_id');
  const one = names('project_id', 'drawing_id');
  const base = '/v2/projects/{project_id}/drawings';
  return [
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the drawings; a closed project is read from its file',
      params: all,
      answers: { 200: z.array(z.union([drawing, openObject])) },
      handle: async ({ params }) => {
        return jsonText(200, await listObjects(projects.find(params.project_id), 'drawing'));
      },
    }),
    route({
      method: 'POST',
      path: base,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Create a drawing',
      params: all,
      body: newDrawing,
      answers: { 201: drawing },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        const made = await project.change((topology, transaction) =>
          createDrawing(topology, transaction, body),
        );
        return jsonText(201, made);
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{drawing_id}`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show a drawing',
      params: one,
      answers: { 200: drawing },
      handle: ({ params }) => {
        const found = projects.find(params.project_id).topology.drawings.published(params.drawing_id);
        if (found === undefined) throw refusals.drawingUnknown(params.drawing_id);
        return jsonText(200, found);
      },
    }),
    route({
      method: 'PUT',
      path: `${base}/{drawing_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Change a drawing',
      params: one,
      body: changedDrawing,
      answers: { 201: drawing },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        const changed = await project.change((topology, transaction) =>
          updateDrawing(topology, transaction, params.drawing_id, body),
        );
        return jsonText(201, changed);
      },
    }),
    route({
      method: 'DELETE',
      path: `${base}/{drawing_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete a drawing',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await projects.find(params.project_id).change((topology, transaction) => {
          deleteDrawing(topology, transaction, params.drawing_id);
        });
        return empty(204);
      },
    }),
  ];
}

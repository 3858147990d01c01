/** Projects of the compute interface: controllers create them before they place nodes here. */
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import { empty, json, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { tcpPort, uuid, variables } from '../lab/gns3-file/topology-schema.js';
import { checkId, findProject } from './compute-ids.js';
import { changedProject, newProject } from './projects.js';
import { names, nothing } from './schemas.js';

const tag = 'Compute projects';

const computeProject = z.strictObject({ name: z.string(), project_id: uuid, variables });

export function computeProjectRoutes(compute: LocalCompute): Route[] {
  const one = names('project_id');
  const path = '/v2/compute/projects/{project_id}';
  return [
    route({
      method: 'GET',
      path: '/v2/compute/projects',
      tag,
      access: { right: 'compute' },
      summary: 'List the projects of this compute',
      params: nothing,
      answers: { 200: z.array(computeProject) },
      handle: () => jsonText(200, compute.projects.list()),
    }),
    route({
      method: 'POST',
      path: '/v2/compute/projects',
      tag,
      access: { right: 'compute' },
      summary: 'Create a project that nodes can run in',
      params: nothing,
      body: newProject,
      answers: { 201: computeProject },
      handle: async ({ body }) => jsonText(201, await compute.projects.create(body)),
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'compute' },
      summary: 'Show a project of this compute',
      params: one,
      answers: { 200: computeProject },
      handle: ({ params }) => jsonText(200, findProject(compute, params.project_id).text),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'compute' },
      summary: 'Change the variables of a project',
      params: one,
      body: changedProject,
      answers: { 200: computeProject },
      handle: ({ params, body }) => {
        const project = findProject(compute, params.project_id);
        project.update(body.variables ?? null);
        return jsonText(200, project.text);
      },
    }),
    route({
      method: 'POST',
      path: `${path}/close`,
      tag,
      access: { right: 'compute' },
      summary: 'Stop the nodes of a project and forget it; its files stay',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        checkId('Project', params.project_id);
        await compute.projects.close(params.project_id);
        return empty(204);
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      access: { right: 'compute' },
      summary: 'Delete a project; if it is a project of the controller, its files stay',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        checkId('Project', params.project_id);
        await compute.projects.delete(params.project_id);
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: `${path}/ports/udp`,
      tag,
      access: { right: 'compute' },
      summary: 'Reserve a UDP port',
      params: one,
      answers: { 201: z.strictObject({ udp_port: tcpPort }) },
      handle: async ({ params }) => {
        return json(201, { udp_port: await findProject(compute, params.project_id).reserveUdpPort() });
      },
    }),
  ];
}

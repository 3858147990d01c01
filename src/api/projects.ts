/** Creating, opening, changing, closing and deleting projects. */
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { FolderTasks } from '../lab/projects/folder-tasks.js';
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json, jsonText } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { checkSeen } from '../http/route-access.js';
import { route, type Route } from '../http/route.js';
import type { Grants } from '../lab/access/grants.js';
import type { Controller } from '../lab/controller.js';
import type { ProjectClaim } from '../lab/projects/project-lifetime.js';
import { countObjects } from '../lab/projects/project-content.js';
import { supplier, text, uuid, variables } from '../lab/gns3-file/topology-schema.js';
import type { Jobs } from '../snapshots/jobs.js';
import { names, nothing } from './schemas.js';
import { project } from './shapes/projects.js';

const tag = 'Projects';

const side = z.int().min(0).max(1_000_000);
const path = text(1, 4096).nullable();
const settings = {
  name: text(1, 200),
  auto_close: z.boolean(),
  auto_open: z.boolean(),
  auto_start: z.boolean(),
  scene_height: side,
  scene_width: side,
  zoom: side,
  show_layers: z.boolean(),
  snap_to_grid: z.boolean(),
  show_grid: z.boolean(),
  grid_size: side,
  drawing_grid_size: side,
  show_interface_labels: z.boolean(),
  supplier,
  variables,
};
export const newProject = z.strictObject({
  ...z.object(settings).partial().shape,
  name: settings.name,
  project_id: uuid.nullable().optional(),
  path: path.optional(),
});
export const changedProject = z.strictObject({
  ...z.object(settings).partial().shape,
  path: path.optional(),
});
const stats = z.strictObject({ drawings: z.int(), links: z.int(), nodes: z.int(), snapshots: z.int() });

/** How a new project becomes its maker's. Refuses (403) a maker who could not see it. */
export function claimOf(grants: Grants, { userId, isForSomeProjects }: Caller): ProjectClaim {
  if (isForSomeProjects) throw refusals.tokenForProjects();
  return { userId, make: (projectId) => grants.claim(projectId, userId) };
}

interface ProjectRouteServices {
  readonly grants: Grants;
  readonly jobs: Jobs;
  /** These know something of projects, whose records go when a project is removed. */
  readonly forgotten: readonly { forget(projectId: string): void }[];
  readonly files: TaskRunner<FolderTasks>;
}

export function projectRoutes(
  controller: Controller,
  { grants, jobs, forgotten, files }: ProjectRouteServices,
): Route[] {
  const { projects } = controller;
  const one = names('project_id');
  return [
    route({
      method: 'GET',
      path: '/v2/projects',
      isFollowed: true,
      scope: 'any',
      tag,
      access: { right: 'projects:read' },
      summary: 'List the projects, open or closed',
      params: nothing,
      answers: { 200: z.array(project) },
      handle: ({ exchange: { caller } }) =>
        jsonText(
          200,
          projects.list((id) => caller.grantOn(id) !== undefined),
        ),
    }),
    route({
      method: 'POST',
      path: '/v2/projects',
      scope: 'any',
      tag,
      access: { right: 'projects:write' },
      summary: 'Create a project and open it',
      params: nothing,
      body: newProject,
      answers: { 201: project },
      handle: async ({ body, exchange: { caller } }) => {
        // A client that makes a project again gets the one that is there.
        if (body.project_id != null && (await projects.isKnown(body.project_id)))
          checkSeen(caller, body.project_id);
        return jsonText(201, await projects.create(given(body), claimOf(grants, caller)));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/projects/load',
      tag,
      access: { right: 'admin' },
      summary: 'Open a topology file of this machine (local servers only)',
      params: nothing,
      body: z.strictObject({ path: text(1, 4096) }),
      answers: { 201: project },
      handle: async ({ body }) => {
        if (!controller.isLocal) throw refusals.loadLocalOnly();
        return jsonText(201, await projects.load(body.path));
      },
    }),
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show a project',
      params: one,
      answers: { 200: project },
      handle: ({ params }) => jsonText(200, projects.find(params.project_id).text),
    }),
    route({
      method: 'PUT',
      path: '/v2/projects/{project_id}',
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Change the settings of a project',
      params: one,
      body: changedProject,
      answers: { 200: project },
      handle: async ({ params, body: { path: wantedPath, ...wanted } }) => {
        const found = projects.find(params.project_id);
        if (wantedPath != null && wantedPath !== found.record.path) {
          await projects.move(found.id, wantedPath);
        }
        return jsonText(200, await projects.change(found.id, given(wanted)));
      },
    }),
    route({
      method: 'DELETE',
      path: '/v2/projects/{project_id}',
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'owner' },
      summary: 'Delete a project and its folder',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        // A job in its folder must not create the folder again.
        await jobs.cancelAll(params.project_id);
        await projects.delete(params.project_id, () => {
          for (const one of forgotten) one.forget(params.project_id);
        });
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/open',
      tag,
      access: { right: 'run', project: 'project_id' },
      summary: 'Open a project',
      params: one,
      answers: { 201: project },
      handle: async ({ params }) => jsonText(201, await projects.find(params.project_id).open()),
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/close',
      tag,
      access: { right: 'run', project: 'project_id' },
      summary: 'Close a project',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await projects.find(params.project_id).close();
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/stats',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Count the nodes, links, drawings and snapshots of a project',
      params: one,
      answers: { 200: stats },
      handle: async ({ params }) => json(200, await countObjects(projects.find(params.project_id), files)),
    }),
  ];
}

/** The settings without the keys that the client left out. */
function given<Body extends object>(body: Body): { [Key in keyof Body]: Exclude<Body[Key], undefined> } {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Body]: Exclude<Body[Key], undefined>;
  };
}

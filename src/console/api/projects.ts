/** Labs, which the interface calls projects. */
import type { LabFiguresShape } from '../../api/shapes/lab-overview.js';
import type { ProjectShape } from '../../api/shapes/projects.js';
import { segment, type Call } from './call.js';

const all = 'v2/projects';
const one = (id: string): string => `${all}/${segment(id)}`;

export const listProjects = (): Call<ProjectShape[]> => ({ method: 'GET', path: all });

export const listLabFigures = (): Call<LabFiguresShape[]> => ({
  method: 'GET',
  path: 'v2/overview/projects',
});

export const createProject = (name: string): Call<ProjectShape> => ({
  method: 'POST',
  path: all,
  body: { name },
});

export const openProject = (id: string): Call<ProjectShape> => ({ method: 'POST', path: `${one(id)}/open` });

export const closeProject = (id: string): Call<void> => ({ method: 'POST', path: `${one(id)}/close` });

export const deleteProject = (id: string): Call<void> => ({ method: 'DELETE', path: one(id) });

export const startNodes = (id: string): Call<void> => ({ method: 'POST', path: `${one(id)}/nodes/start` });

export const stopNodes = (id: string): Call<void> => ({ method: 'POST', path: `${one(id)}/nodes/stop` });

/** The body is the archive. */
export const importProject = (id: string, name: string): Call<ProjectShape> => ({
  method: 'POST',
  path: `${one(id)}/import?name=${segment(name)}`,
});

/** The address of the archive, for a download. */
export const exportAddress = (id: string): string => `${one(id)}/export`;

export const showProject = (id: string): Call<ProjectShape> => ({ method: 'GET', path: one(id) });

/** The names of the nodes of an open lab, by their ids. */
export const listNodeNames = (
  id: string,
): Call<{
  readonly nodes: readonly { readonly node_id: string; readonly name: string }[];
}> => ({ method: 'GET', path: `${one(id)}/map` });

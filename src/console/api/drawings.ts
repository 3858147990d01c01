/** The notes and drawings of a lab. */
import type { DrawingShape } from '../../api/shapes/drawings.js';
import { segment, type Call } from './call.js';

export type DrawingChange = Partial<Omit<DrawingShape, 'drawing_id' | 'project_id'>>;

const all = (lab: string): string => `v2/projects/${segment(lab)}/drawings`;
const one = (lab: string, drawing: string): string => `${all(lab)}/${segment(drawing)}`;

export const listDrawings = (lab: string): Call<DrawingShape[]> => ({ method: 'GET', path: all(lab) });

export const createDrawing = (
  lab: string,
  body: DrawingChange & { readonly drawing_id?: string },
): Call<DrawingShape> => ({ method: 'POST', path: all(lab), body });

export const changeDrawing = (lab: string, drawing: string, body: DrawingChange): Call<DrawingShape> => ({
  method: 'PUT',
  path: one(lab, drawing),
  body,
});

export const deleteDrawing = (lab: string, drawing: string): Call<void> => ({
  method: 'DELETE',
  path: one(lab, drawing),
});

/** A drawing as clients see it: exactly the contract's 8 keys, sorted. */
import type { StoredDrawing } from '../gns3-file/topology-schema.js';

export interface DrawingView {
  readonly drawing_id: string;
  readonly locked: boolean;
  readonly project_id: string;
  readonly rotation: number;
  readonly svg: string;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export function drawingView(drawing: StoredDrawing, projectId: string): DrawingView {
  return {
    drawing_id: drawing.drawing_id,
    locked: drawing.locked ?? false,
    project_id: projectId,
    rotation: drawing.rotation ?? 0,
    svg: drawing.svg ?? '<svg></svg>',
    x: drawing.x ?? 0,
    y: drawing.y ?? 0,
    z: drawing.z ?? 2,
  };
}

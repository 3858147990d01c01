/** A project as clients see it: exactly the contract's 19 keys, sorted. */
import type { ProjectRecord } from './records.js';
import type { ProjectSettings } from '../gns3-file/topology-schema.js';

export interface ProjectView extends ProjectSettings {
  readonly filename: string;
  readonly path: string;
  readonly project_id: string;
  readonly status: 'opened' | 'closed';
}

export function projectView(id: string, record: ProjectRecord, status: ProjectView['status']): ProjectView {
  const { settings } = record;
  return {
    auto_close: settings.auto_close,
    auto_open: settings.auto_open,
    auto_start: settings.auto_start,
    drawing_grid_size: settings.drawing_grid_size,
    filename: record.filename,
    grid_size: settings.grid_size,
    name: settings.name,
    path: record.path,
    project_id: id,
    scene_height: settings.scene_height,
    scene_width: settings.scene_width,
    show_grid: settings.show_grid,
    show_interface_labels: settings.show_interface_labels,
    show_layers: settings.show_layers,
    snap_to_grid: settings.snap_to_grid,
    status,
    supplier: settings.supplier,
    variables: settings.variables,
    zoom: settings.zoom,
  };
}

export function projectText(id: string, record: ProjectRecord, status: ProjectView['status']): string {
  return JSON.stringify(projectView(id, record, status));
}

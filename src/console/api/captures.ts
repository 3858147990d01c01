/** Capture files of all labs. */
import type { ProjectCaptureShape } from '../../api/shapes/captures.js';
import { segment, type Call } from './call.js';

type CaptureName = Pick<ProjectCaptureShape, 'project_id' | 'name'>;

export const listCaptures = (): Call<ProjectCaptureShape[]> => ({ method: 'GET', path: 'v2/captures' });

/** The address of the file, for a download. */
export const captureAddress = ({ project_id: projectId, name }: CaptureName): string =>
  `v2/projects/${segment(projectId)}/captures/${segment(name)}`;

/** The address of all files of a lab as one tar archive. */
export const captureArchive = (projectId: string, names: readonly string[]): string =>
  `v2/projects/${segment(projectId)}/captures.tar?names=${segment(names.join(','))}`;

export const deleteCapture = (capture: CaptureName): Call<void> => ({
  method: 'DELETE',
  path: captureAddress(capture),
});

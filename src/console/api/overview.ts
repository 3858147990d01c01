/** The server at a glance, and the examination of its host. */
import type { OverviewShape } from '../../api/shapes/overview.js';
import type { ExaminationShape } from '../../api/shapes/doctor.js';
import type { Call } from './call.js';
import { askingFor, liveSocket } from './live-socket.js';

/** Calls `onFigures` each second. Returns the function that ends it. */
export function listenToOverview(onFigures: (figures: OverviewShape) => void): () => void {
  return liveSocket({
    path: 'v2/overview/ws',
    onFrame: (frame) => onFigures(frame as OverviewShape),
    otherwise: askingFor<OverviewShape>({ method: 'GET', path: 'v2/overview' }, onFigures),
  });
}

export const examineHost = (): Call<ExaminationShape> => ({ method: 'GET', path: 'v2/admin/doctor' });

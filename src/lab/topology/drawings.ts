/** The requests of clients on the drawings of an open project. Each function is one request inside a transaction. */
import { randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import type { Topology } from './topology.js';
import type { StoredDrawing } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

interface DrawingRequest {
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly z?: number | undefined;
  readonly locked?: boolean | undefined;
  readonly rotation?: number | undefined;
  readonly svg?: string | undefined;
}

interface NewDrawing extends DrawingRequest {
  readonly drawing_id?: string | undefined;
}

export function createDrawing(topology: Topology, transaction: Transaction, wanted: NewDrawing): string {
  const known = wanted.drawing_id === undefined ? undefined : topology.drawings.get(wanted.drawing_id);
  if (known !== undefined) return topology.drawings.textOf(known);
  const drawing: StoredDrawing = {
    drawing_id: wanted.drawing_id ?? randomUUID(),
    locked: wanted.locked ?? false,
    rotation: wanted.rotation ?? 0,
    svg: wanted.svg ?? '<svg></svg>',
    x: wanted.x ?? 0,
    y: wanted.y ?? 0,
    z: wanted.z ?? 2,
  };
  return topology.drawings.put(transaction, drawing.drawing_id, drawing, { action: 'created' });
}

/** Always announces the drawing, but its picture, which may be large, only when it has changed. */
export function updateDrawing(
  topology: Topology,
  transaction: Transaction,
  id: string,
  wanted: DrawingRequest,
): string {
  const drawing = findDrawing(topology, id);
  const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
  const next: StoredDrawing = { ...drawing, ...given };
  if (next.svg !== drawing.svg) return topology.drawings.put(transaction, id, next, { action: 'updated' });
  const { svg, ...event } = topology.viewDrawing(next);
  return topology.drawings.put(transaction, id, next, { action: 'updated', event: JSON.stringify(event) });
}

export function deleteDrawing(topology: Topology, transaction: Transaction, id: string): void {
  const drawing = findDrawing(topology, id);
  if (drawing.locked === true) throw refusals.drawingLocked(id);
  topology.drawings.remove(transaction, id);
}

function findDrawing(topology: Topology, id: string): StoredDrawing {
  const drawing = topology.drawings.get(id);
  if (drawing === undefined) throw refusals.drawingUnknown(id);
  return drawing;
}

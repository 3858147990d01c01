/**
 * The events that the history of a project or of the server keeps, for people who ask later what has happened. Whoever sees
 * one tells it to a `Remember`, which neither fails nor waits.
 */
export const EVENT_KINDS = [
  'capture_ended',
  'change',
  'disk_full',
  'disk_has_room',
  'drops_began',
  'drops_ended',
  'engine_restarted',
  'events_lost',
  'lab_end_near',
  'lab_ended',
  'node_ended',
  'node_kept',
  'node_not_started',
  'node_resumed',
  'nodes_suspended',
  'quota_near',
  'signed_in',
  'sign_in_refused',
] as const;

export type EventKind = (typeof EVENT_KINDS)[number];

export interface HistoryEvent {
  readonly kind: EventKind;
  readonly message: string;
  /** The id of the node, link or other object that it is about. */
  readonly subject?: string | undefined;
  /** The name of the user whose doing it is. */
  readonly user?: string | undefined;
}

/** Without a project the event is one of the whole server. */
export type Remember = (projectId: string | undefined, event: HistoryEvent) => void;

/**
 * How the stored content of an open project is made to run. The lab tells what is stored, in order; whoever runs
 * it follows. Telling never fails and never waits: what could not be made to run is told to the project's
 * listeners.
 */
import type { StoredLink, StoredNode } from './topology-schema.js';

export interface LabRun {
  /** A node of a kind that is served here is new or has changed. */
  nodeStored(node: StoredNode): void;
  nodeRemoved(node: StoredNode): void;
  linkStored(link: StoredLink): void;
  linkRemoved(link: StoredLink): void;
  /** Resolves when everything told so far runs, or cannot; undefined when that is so already. */
  settled(): Promise<void> | undefined;
  /** Stops everything. */
  end(): Promise<void>;
}

/** Begins to run a project that has just been opened. */
export type BeginRun = (projectId: string) => LabRun;

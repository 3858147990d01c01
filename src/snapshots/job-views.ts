/** How clients see jobs. */

export type JobKind =
  | 'snapshot.create'
  | 'snapshot.delete'
  | 'snapshot.restore'
  | 'snapshot.verify'
  | 'snapshot.seal'
  | 'snapshot.compare'
  | 'project.export'
  | 'project.import'
  | 'project.duplicate'
  | 'lab_file.apply'
  | 'backup.create'
  | 'backup.verify'
  | 'backup.delete'
  | 'audit.verify'
  | 'deal.copy'
  | 'deal.collect'
  | 'deal.reset';

export interface JobView {
  readonly job_id: string;
  readonly project_id: string;
  readonly kind: JobKind;
  /** The name of the snapshot or project that the job works on, for instance. */
  readonly subject: string;
  readonly state: 'waiting' | 'running';
  /** Bytes, the steps of a lab file, or the members of a group; the total is 0 until it is known. */
  readonly done: number;
  readonly total: number;
  readonly started_at: string;
}

export interface EndedView extends JobView {
  readonly outcome: 'done' | 'failed';
  /** Why it failed, as the answer to its request would say it. */
  readonly reason?: string;
  readonly code?: string;
  readonly status?: number;
  readonly ended_at: string;
}

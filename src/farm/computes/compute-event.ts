/** A notification of a compute. */
export interface ComputeEvent {
  readonly action: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly projectId: string | undefined;
}

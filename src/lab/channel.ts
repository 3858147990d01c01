/** One stream of notifications: of the controller, or of one project. */

/** Receives one event: a JSON object on a single line, without the line's end. */
export type Listener = (event: string) => void;

export class Channel {
  readonly #listeners = new Set<Listener>();

  get size(): number {
    return this.#listeners.size;
  }

  /** `event` is the JSON text of the object that the action is about. The stream of a compute names the project. */
  emit(action: string, event: string, projectId?: string): void {
    if (this.#listeners.size === 0) return;
    const line = envelope(action, event, projectId);
    for (const listener of this.#listeners) {
      try {
        listener(line);
      } catch {
        // Its client is in a state that cannot be sent to. Changes and other listeners must not suffer.
        this.#listeners.delete(listener);
      }
    }
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

export function envelope(action: string, event: string, projectId?: string): string {
  const project = projectId === undefined ? '' : `, "project_id": ${JSON.stringify(projectId)}`;
  return `{"action": "${action}", "event": ${event}${project}}`;
}

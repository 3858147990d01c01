/** Servers that take files and give them back: Wirefarm, and those that it is measured against. */

export interface FileServer {
  readonly method: 'POST' | 'PUT';
  /** The files lie here, under the names that they were sent with. */
  readonly folder: string;
  /** Where a file of this name is sent to, and fetched from. */
  url(name: string): string;
  /** Seconds of CPU so far, of all its processes. */
  cpuSeconds(): number;
  /** Resolves when the work that follows the answers for these files is done. */
  settled(names: readonly string[]): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

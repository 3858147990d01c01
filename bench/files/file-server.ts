/** What takes files and gives them back: Wirefarm, and what it is measured against. */

export interface FileServer {
  readonly method: 'POST' | 'PUT';
  /** The files lie here, under the names that they were sent with. */
  readonly folder: string;
  /** Where a file of this name is sent to, and fetched from. */
  url(name: string): string;
  /** Seconds of CPU so far, of all its processes. */
  cpuSeconds(): number;
  /** What is done with these files after their answers has been done. */
  settled(names: readonly string[]): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** The server as a program, with somebody who watches its HTTP thread and writes to descriptor 3. */
import { watchTurns } from './turn-watch.js';

const REPORTS = 3;

if (process.platform === 'linux') {
  const watch = watchTurns(REPORTS);
  const write = process.stdout.write.bind(process.stdout);
  // The first line that a server prints says that it listens: its start has ended.
  process.stdout.write = (line: string | Uint8Array) => {
    process.stdout.write = write;
    watch.count();
    return write(line);
  };
}
await import('../../src/server/main.js');

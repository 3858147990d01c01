/** The server as a program, with somebody who watches its HTTP thread and writes to descriptor 3. */
import { watchTurns } from './turn-watch.js';

const REPORTS = 3;

if (process.platform === 'linux') watchTurns({ descriptor: REPORTS });
await import('../../src/server/main.js');

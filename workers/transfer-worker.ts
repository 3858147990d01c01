/** The thread of a loop that writes uploads. */
import { workerData } from 'piscina';
import { setDiskFloor } from '../src/base/disk/disk-floor.js';

setDiskFloor((workerData as { floor: number | undefined }).floor);

export { runTransfers as default } from '../src/files/transfer/transfer-loop.js';

/** Thread entry: finds, starts or awaits the keeper. It is ended when the server has connected, or has failed to. */
import { parentPort, workerData } from 'node:worker_threads';
import { startKeeper, type KeeperStart } from '../src/run/keeper/keeper-starting.js';

const started = await startKeeper(workerData as KeeperStart);
// A thread that listens goes on.
parentPort?.on('message', () => undefined);
parentPort?.postMessage(started);

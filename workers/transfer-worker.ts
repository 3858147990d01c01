/** The thread of a loop that writes uploads. */
export { runTransfers as default } from '../src/transfer/transfer-task.js';

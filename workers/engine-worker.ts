/** The thread of a packet engine. */
export { runEngine as default } from '../src/engines/engine-task.js';

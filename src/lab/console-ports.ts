/** The console port numbers of the local compute. */
import { NumberPool } from './number-pool.js';

export class ConsolePorts extends NumberPool {}

/** What an engine's thread is given when it starts. */
import type { MessagePort } from 'node:worker_threads';
import type { EngineMemory } from '../../base/memory/engine-memory.js';
import type { Ear } from '../forwarding/transport.js';

export interface EngineStart {
  readonly memory: EngineMemory;
  /** Orders come in here, and answers leave. */
  readonly orders: MessagePort;
  readonly ear: Ear;
}

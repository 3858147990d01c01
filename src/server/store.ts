/** Makes the store of a server: a journal in its state folder, or the etcd of a farm. */
import { StateThread } from '../base/store/state-thread.js';
import type { Config } from './config.js';
import { serverMark } from './folders.js';
import type { ServerStore } from './server-store.js';

export async function serverStore(config: Config): Promise<ServerStore> {
  if (config.farm === undefined) return new StateThread(config.state);
  // No other server needs it, so it is loaded only here.
  const { LoneStore } = await import('./lone-store.js');
  return new LoneStore(config.farm, serverMark(config));
}

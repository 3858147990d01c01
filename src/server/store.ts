/** Makes the store of a server: a journal in its state folder, or the etcd of a farm. */
import type { Logger } from 'pino';
import type { Config } from './config.js';
import { withAccess } from './etcd-files.js';
import { serverMark } from './folders.js';
import { LocalStore } from './local-store.js';
import type { ServerStore } from './server-store.js';

export async function serverStore(config: Config, log: Logger): Promise<ServerStore> {
  if (config.farm === undefined) return new LocalStore(config.state);
  const farm = await withAccess(config.farm, config.farmAccess);
  // No other server needs them, so they are loaded only here.
  if (config.advertise !== undefined) {
    const { MemberStore } = await import('./member-store.js');
    return new MemberStore({ farm, state: config.state, id: serverMark(config), log });
  }
  const { LoneStore } = await import('./lone-store.js');
  return new LoneStore(farm, serverMark(config));
}

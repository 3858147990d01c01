/**
 * The keeper of the programs as a service of its own: servers come and go beside it, and its manager starts it again
 * whenever it ends. It ends with its programs when a server wants that, and when the grace of the last one is over.
 */
import { NotifySocket } from '../operations/notify-socket.js';
import { runKeeper } from '../run/keeper/keeper-process.js';
import type { Config } from './config.js';
import { keeperFolder, prepareKeeperFolder, serverMark } from './folders.js';

/** Resolves when it serves. */
export async function keepPrograms(config: Config): Promise<void> {
  prepareKeeperFolder(config);
  await runKeeper({ folder: keeperFolder(config), mark: serverMark(config), isOfServer: false });
  const { socket } = config.systemd;
  if (socket !== undefined) await NotifySocket.open(socket)?.deliver(['READY=1']);
}

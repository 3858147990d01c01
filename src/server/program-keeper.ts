/** The keeper of the nodes' programs, and how it confines them, as the configuration says. */
import type { Logger } from 'pino';
import { Keeper } from '../run/keeper/keeper.js';
import { Confinement } from '../run/nodes/confinement.js';
import type { Config } from './config.js';
import { keeperFolder, serverMark } from './folders.js';
import type { Threads } from './threads.js';

interface ProgramKeeper {
  readonly confinement: Confinement;
  readonly keeper: Keeper;
}

export function programKeeper(config: Config, { files, namespaces }: Threads, log: Logger): ProgramKeeper {
  const confinement = new Confinement({
    isWanted: config.confinesPrograms,
    mark: serverMark(config),
    serverFolders: [config.data, config.projects, config.images, config.state],
    files,
    namespaces,
    log,
  });
  const keeper = new Keeper({
    folder: keeperFolder(config),
    mark: serverMark(config),
    isService: config.hasKeeperService,
    graceSeconds: config.keepsNodesSeconds,
    limits: config.projectLimits,
    confine: (order) => confinement.ofOrder(order),
    log,
    onLost: (ids: readonly string[]) => {
      log.error({ programs: ids.length }, 'the keeper of the node programs ended, and they with it');
    },
  });
  return { confinement, keeper };
}

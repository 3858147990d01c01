/** The services that projects and nodes of the compute interface share. */
import type { ConsoleReach } from './consoles/console-port.js';
import type { Logger } from 'pino';
import type { RunningDevice } from '../engine/control/running-device.js';
import type { Intake } from '../base/intake.js';
import type { Remember } from '../lab/history-event.js';
import type { Channel } from '../base/streams/channel.js';
import type { ConsolePorts } from '../lab/console-ports.js';
import type { FilterPlans } from './nodes/filter-plans.js';
import type { LinkEnds } from './links/link-ends.js';
import type { NioSockets } from './links/nio-sockets.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { NodeArchiveTasks } from '../files/node-files/node-archive-tasks.js';
import type { ComputeFiles } from './files.js';
import type { KeptPrograms } from './nodes/kept-programs.js';
import type { ProjectRoom } from './project-room.js';
import type { RunningNodes } from './running-nodes.js';
import type { SavedStates } from './saved-states.js';
import type { NatWays } from './nodes/nat/nat-ways.js';
import type { Programs } from './nodes/programs.js';
import type { UdpPorts } from './links/udp-ports.js';

export interface ComputeServices {
  readonly channel: Channel;
  readonly consolePorts: ConsolePorts;
  readonly udpPorts: UdpPorts;
  readonly sockets: NioSockets;
  readonly linkEnds: LinkEnds;
  readonly filterPlans: FilterPlans;
  /** ATM switches drop cells whose header error control is wrong. */
  readonly refusesBadHec: boolean;
  /** Reserves a place on an engine for a device of a lab. */
  readonly newDevice: (lab: string) => RunningDevice;
  readonly files: ComputeFiles;
  /** Copies folders, which may be large. */
  readonly archives: TaskRunner<NodeArchiveTasks>;
  readonly programs: Programs;
  readonly kept: KeptPrograms;
  readonly room: ProjectRoom;
  readonly intake: Pick<Intake, 'check'>;
  readonly running: RunningNodes;
  readonly savedStates: SavedStates;
  readonly nat: NatWays;
  readonly consoles: ConsoleReach;
  /** Notifies the listeners of the compute and of the controller. */
  readonly nodeChanged: (projectId: string, nodeId: string, text: string) => void;
  /** Tells the listeners of the compute and of the project what has happened. */
  readonly report: (projectId: string, level: 'info' | 'warning' | 'error', message: string) => void;
  /** Called when somebody uses a console of a node of the project. */
  readonly used: (projectId: string) => void;
  /** Tells the history of the project. */
  readonly remember: Remember;
  readonly log: Logger;
}

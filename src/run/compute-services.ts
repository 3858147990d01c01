/** The services that projects and nodes of the compute interface share. */
import type { Logger } from 'pino';
import type { RunningDevice } from '../engine/control/running-device.js';
import type { Channel } from '../base/streams/channel.js';
import type { ConsolePorts } from '../lab/console-ports.js';
import type { FilterPlans } from './switches/filter-plans.js';
import type { NioSockets } from './links/nio-sockets.js';
import type { UdpPorts } from './links/udp-ports.js';

export interface ComputeServices {
  readonly channel: Channel;
  readonly consolePorts: ConsolePorts;
  readonly udpPorts: UdpPorts;
  readonly sockets: NioSockets;
  readonly filterPlans: FilterPlans;
  /** ATM switches drop cells whose header error control is wrong. */
  readonly refusesBadHec: boolean;
  /** Reserves a place on an engine for a device of a lab. */
  readonly newDevice: (lab: string) => RunningDevice;
  readonly log: Logger;
}

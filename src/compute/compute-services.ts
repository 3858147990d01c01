/** What the projects and nodes of the compute side work with. */
import type { BpfCompiler } from '../capture/bpf-compiler.js';
import type { Captures } from '../capture/captures.js';
import type { RunningDevice } from '../engines/running-device.js';
import type { Channel } from '../lab/channel.js';
import type { ConsolePorts } from '../lab/console-ports.js';
import type { FilterPlans } from './filter-plans.js';
import type { NioSockets } from './nio-sockets.js';
import type { UdpPorts } from './udp-ports.js';

export interface ComputeServices {
  readonly channel: Channel;
  readonly consolePorts: ConsolePorts;
  readonly udpPorts: UdpPorts;
  readonly sockets: NioSockets;
  readonly captures: Captures;
  readonly bpf: BpfCompiler;
  readonly filterPlans: FilterPlans;
  /** Of ATM switches. */
  readonly refusesBadHec: boolean;
  /** Reserves a place on an engine for a device of a lab. */
  readonly newDevice: (lab: string) => RunningDevice;
}

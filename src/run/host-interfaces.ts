/** The network interfaces of this host, as clients choose from them. */
import type { CloudInterface } from '../lab/kinds/host-interface.js';
import type { ComputeFiles } from './files.js';
import type { HostInterface } from './host-tasks.js';

export interface ShownInterface {
  readonly id: string;
  readonly ip_address: string;
  readonly mac_address: string;
  readonly name: string;
  readonly netmask: string;
  /** An interface that the host made for itself; clients do not offer it. */
  readonly special: boolean;
  readonly type: 'ethernet' | 'tap';
}

const SPECIAL = [
  'lo',
  'vmnet',
  'vboxnet',
  'gns3tap',
  'docker',
  'lxcbr',
  'virbr',
  'ovs-system',
  'veth',
  'fw',
  'p2p',
  'bridge',
  'vmware',
  'virtualbox',
];

export function shownInterface({ name, mac, address, netmask }: HostInterface): ShownInterface {
  const lower = name.toLowerCase();
  return {
    id: name,
    ip_address: address,
    mac_address: mac,
    name,
    netmask,
    special: SPECIAL.some((start) => lower.startsWith(start)) || lower.endsWith('-nic'),
    type: lower.startsWith('tap') ? 'tap' : 'ethernet',
  };
}

/** The interfaces of this host, as clouds have them among their properties. A file thread reads them. */
export async function cloudInterfaces(files: ComputeFiles): Promise<CloudInterface[]> {
  const found = await files.run('findInterfaces', undefined);
  return found.map(shownInterface).map(({ name, special, type }) => ({ name, special, type }));
}

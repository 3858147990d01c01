/** The kinds of node that run on engines. */
import type { NodeKind } from '../../lab/kinds/node-kind.js';
import { SERVED_KINDS } from '../../lab/kinds/served-kinds.js';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';

/** A kind of node that an engine has a device for. */
export type SwitchKind = NodeKind & { readonly type: DeviceKind };

const DEVICES: readonly string[] = [
  'atm_switch',
  'frame_relay_switch',
  'ethernet_switch',
  'ethernet_hub',
] satisfies DeviceKind[];

export const SWITCH_KINDS: readonly SwitchKind[] = SERVED_KINDS.filter(isSwitchKind);

function isSwitchKind(kind: NodeKind): kind is SwitchKind {
  return DEVICES.includes(kind.type);
}

/** What the frames of a switch are to expressions and captures, unless somebody says otherwise. */
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import { LINK_TYPE, type LinkType } from '../../engine/wire/pcap.js';

export const LINK_TYPES: Readonly<Record<DeviceKind, LinkType>> = {
  atm_switch: LINK_TYPE.SUNATM,
  ethernet_hub: LINK_TYPE.EN10MB,
  ethernet_switch: LINK_TYPE.EN10MB,
  frame_relay_switch: LINK_TYPE.FRELAY,
};

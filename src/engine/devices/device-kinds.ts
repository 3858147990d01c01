/** The kinds of device that an engine can run. A new kind is a file of its own and a line here. */
import { ATM_SWITCH } from './atm-switch.js';
import type { DeviceType } from './device.js';
import { ETHERNET_HUB } from './ethernet-hub.js';
import { ETHERNET_SWITCH } from './ethernet-switch.js';
import { FRAME_RELAY_SWITCH } from './frame-relay-switch.js';
import { NETIO_BRIDGE } from './netio-bridge.js';
import { PATCH } from './patch.js';

export const DEVICE_KINDS = {
  atm_switch: ATM_SWITCH,
  ethernet_hub: ETHERNET_HUB,
  ethernet_switch: ETHERNET_SWITCH,
  frame_relay_switch: FRAME_RELAY_SWITCH,
  netio_bridge: NETIO_BRIDGE,
  patch: PATCH,
};

export type DeviceKind = keyof typeof DEVICE_KINDS;

/** The settings of each kind of device. */
export type SettingsOf = {
  [Kind in DeviceKind]: (typeof DEVICE_KINDS)[Kind] extends DeviceType<infer Settings> ? Settings : never;
};

/** What the HTTP thread tells an engine, and what it hears back. Everything survives a structured clone. */
import type { Endpoint } from './endpoint.js';
import type { AtmSettings } from './atm-switch.js';
import type { EthernetSwitchSettings } from './ethernet-switch.js';
import type { FrameRelaySettings } from './frame-relay-switch.js';

/** The settings of each kind of device. */
export interface SettingsOf {
  atm_switch: AtmSettings;
  frame_relay_switch: FrameRelaySettings;
  ethernet_switch: EthernetSwitchSettings;
  ethernet_hub: null;
}

export type DeviceKind = keyof SettingsOf;

/** A kind with settings of that kind. */
export type DeviceDesign = {
  [Kind in DeviceKind]: { readonly kind: Kind; readonly settings: SettingsOf[Kind] };
}[DeviceKind];

export interface Attachment {
  readonly port: number;
  /** Which row of the engine's counters is the port's. */
  readonly row: number;
  readonly endpoint: Endpoint;
  readonly suspended: boolean;
}

export type Order =
  | { readonly do: 'add'; readonly device: number; readonly design: DeviceDesign }
  | { readonly do: 'configure'; readonly device: number; readonly design: DeviceDesign }
  | { readonly do: 'remove'; readonly device: number }
  | { readonly do: 'attach'; readonly device: number; readonly attachment: Attachment }
  | { readonly do: 'detach'; readonly device: number; readonly port: number }
  | { readonly do: 'inspect'; readonly device: number };

/** An order on its way; its number comes back with the answer. */
export interface NumberedOrder {
  readonly number: number;
  readonly order: Order;
}

export type OrderAnswer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: string };

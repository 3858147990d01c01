/** What the HTTP thread tells an engine, and what it hears back. Everything survives a structured clone. */
import type { Endpoint } from './endpoint.js';
import type { AtmSettings } from '../devices/atm-switch.js';
import type { EthernetSwitchSettings } from '../devices/ethernet-switch.js';
import type { FilterPlan } from '../filters/filter-plan.js';
import type { FrameRelaySettings } from '../devices/frame-relay-switch.js';
import type { TapPlan } from '../taps/tap-plan.js';

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

/** What may change of a port while it is attached. */
export interface PortPolicy {
  readonly suspended: boolean;
  /** Undefined lets everything pass as it is. */
  readonly filters: FilterPlan | undefined;
}

export interface Attachment {
  readonly port: number;
  /** Which row of the engine's counters is the port's. */
  readonly row: number;
  readonly endpoint: Endpoint;
  readonly policy: PortPolicy;
}

/** A tap at an attached port; a device numbers its taps. */
export interface NumberedTap {
  readonly port: number;
  readonly tap: number;
  readonly plan: TapPlan;
}

export type Order =
  | { readonly do: 'add'; readonly device: number; readonly design: DeviceDesign }
  | { readonly do: 'configure'; readonly device: number; readonly design: DeviceDesign }
  | { readonly do: 'remove'; readonly device: number }
  | { readonly do: 'attach'; readonly device: number; readonly attachment: Attachment }
  | { readonly do: 'detach'; readonly device: number; readonly port: number }
  | { readonly do: 'setPolicy'; readonly device: number; readonly port: number; readonly policy: PortPolicy }
  | { readonly do: 'tap'; readonly device: number; readonly tap: NumberedTap }
  | { readonly do: 'untap'; readonly device: number; readonly port: number; readonly tap: number }
  /** Gives back the memory of a log that is not tapped any more. */
  | { readonly do: 'release'; readonly log: number }
  | { readonly do: 'inspect'; readonly device: number };

/** An order on its way; its number comes back with the answer. */
export interface NumberedOrder {
  readonly number: number;
  readonly order: Order;
}

export type OrderAnswer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: string };

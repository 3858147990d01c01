/** The orders of the HTTP thread to an engine, and the answers. Everything survives a structured clone. */
import type { PortEndpoint } from './transport.js';
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

/** A kind of device, with settings of that kind. */
export type DeviceDesign = {
  [Kind in DeviceKind]: { readonly kind: Kind; readonly settings: SettingsOf[Kind] };
}[DeviceKind];

/** The settings of a port that may change while it is attached. */
export interface PortPolicy {
  readonly suspended: boolean;
  /** Undefined: no filters. */
  readonly filters: FilterPlan | undefined;
}

export interface Attachment {
  readonly port: number;
  /** The row of the engine's counters that belongs to the port. */
  readonly row: number;
  readonly endpoint: PortEndpoint;
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
  /** Gives back the memory of a log. Follows the `untap` of its last tap. */
  | { readonly do: 'release'; readonly log: number }
  | { readonly do: 'inspect'; readonly device: number };

/** An order as it is sent; the answer carries the same number. */
export interface NumberedOrder {
  readonly number: number;
  readonly order: Order;
}

export type OrderAnswer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: string };

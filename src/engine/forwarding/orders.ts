/** The orders of the HTTP thread to an engine. Everything survives a structured clone. */
import type { PortEndpoint } from './transport.js';
import type { DeviceKind, SettingsOf } from '../devices/device-kinds.js';
import type { FilterPlan } from '../filters/filter-plan.js';
import type { TapPlan } from '../taps/tap-plan.js';

/** A kind of device with settings of that kind. */
export type DeviceSettings = {
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
  | { readonly do: 'add'; readonly device: number; readonly settings: DeviceSettings }
  | { readonly do: 'configure'; readonly device: number; readonly settings: DeviceSettings }
  | { readonly do: 'remove'; readonly device: number }
  | { readonly do: 'attach'; readonly device: number; readonly attachment: Attachment }
  | { readonly do: 'detach'; readonly device: number; readonly port: number }
  | { readonly do: 'setPolicy'; readonly device: number; readonly port: number; readonly policy: PortPolicy }
  | { readonly do: 'tap'; readonly device: number; readonly tap: NumberedTap }
  | { readonly do: 'untap'; readonly device: number; readonly port: number; readonly tap: number }
  /** Gives back the memory of a log. Follows the `untap` of its last tap. */
  | { readonly do: 'release'; readonly log: number }
  | { readonly do: 'inspect'; readonly device: number };

/** The order for the filters of a port. Everything survives a structured clone. */
import type { BpfProgram } from '../wire/bpf.js';

export type FilterStage =
  /** Drops frames that any of the programs matches. */
  | { readonly type: 'bpf'; readonly programs: readonly BpfProgram[] }
  /** `every` = N drops each Nth frame; -1 drops all. */
  | { readonly type: 'frequency_drop'; readonly every: number }
  | { readonly type: 'packet_loss'; readonly percent: number }
  | { readonly type: 'corrupt'; readonly percent: number }
  | { readonly type: 'duplicate'; readonly percent: number }
  /** Holds a share of the frames for `holdMs`, so that others overtake them. */
  | { readonly type: 'reorder'; readonly percent: number; readonly holdMs: number }
  /** Drops frames that would wait longer than `queueMs` for their first bit to be sent. */
  | { readonly type: 'rate'; readonly kilobits: number; readonly queueMs: number }
  | { readonly type: 'delay'; readonly latencyMs: number; readonly jitterMs: number };

/** The order in which frames pass the stages, whatever order a plan lists them in. */
export const STAGE_ORDER: readonly FilterStage['type'][] = [
  'bpf',
  'frequency_drop',
  'packet_loss',
  'corrupt',
  'duplicate',
  'reorder',
  'rate',
  'delay',
];

/** The filters of a port: on the way out of the device, and on the way in. */
export interface FilterPlan {
  /** The same seed and the same frames have the same outcome. */
  readonly seed: number;
  readonly outward: readonly FilterStage[];
  readonly inward: readonly FilterStage[];
}

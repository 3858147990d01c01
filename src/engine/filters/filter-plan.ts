/** What is done to the frames of a port on their way, as it is ordered. Everything survives a structured clone. */
import type { BpfProgram } from '../wire/bpf.js';

export type FilterStage =
  /** Drops what one of the programs matches. */
  | { readonly type: 'bpf'; readonly programs: readonly BpfProgram[] }
  /** Drops everything (-1), or every so manieth frame. */
  | { readonly type: 'frequency_drop'; readonly every: number }
  | { readonly type: 'packet_loss'; readonly percent: number }
  | { readonly type: 'corrupt'; readonly percent: number }
  | { readonly type: 'duplicate'; readonly percent: number }
  /** So many of them are held for so long, and overtaken meanwhile. */
  | { readonly type: 'reorder'; readonly percent: number; readonly holdMs: number }
  /** Drops what would wait longer than `queueMs` for its first bit to be sent. */
  | { readonly type: 'rate'; readonly kilobits: number; readonly queueMs: number }
  | { readonly type: 'delay'; readonly latencyMs: number; readonly jitterMs: number };

/** The order in which stages work, whatever order they are named in. */
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

/** Of a port: the way out of the device, and the way into it. */
export interface FilterPlan {
  /** Equal seeds and equal frames have equal outcomes. */
  readonly seed: number;
  readonly outward: readonly FilterStage[];
  readonly inward: readonly FilterStage[];
}

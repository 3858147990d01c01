/** Short messages: about something that this person has begun, or about a failure. */
import { signal } from '@preact/signals';
import { LateAnswer, RefusedCall, UnansweredCall } from '../api/call.js';
import { TEXTS } from '../texts.js';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isFailure: boolean;
}

const SHOWN_MS = 6000;
/** More are not read by anybody. */
const MOST = 5;

export const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

function show(text: string, isFailure: boolean): void {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(1 - MOST), { id, text, isFailure }];
  // A failure stays until somebody has seen it.
  if (!isFailure) setTimeout(() => dismiss(id), SHOWN_MS);
}

export function tell(text: string): void {
  show(text, false);
}

/** Shows the server's sentence as it is. */
export function failed(error: unknown): void {
  show(sentenceOf(error), true);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function sentenceOf(error: unknown): string {
  if (error instanceof LateAnswer) return TEXTS.late;
  if (error instanceof UnansweredCall) return TEXTS.unanswered;
  if (error instanceof RefusedCall) return error.message;
  return error instanceof Error ? error.message : String(error);
}

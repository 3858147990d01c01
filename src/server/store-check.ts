/** `--migrate=check`: tells what a start would do to the store, and does nothing. */
import { StateThread } from '../base/store/state-thread.js';

/** Rejects when no start is possible. */
export async function checkStore(state: string): Promise<string> {
  const store = new StateThread(state);
  const { format, written } = await examined(store);
  if (format === undefined) return `${state} has no store: a start makes one of format ${written}`;
  if (format === written) return `the store in ${state} has format ${format}: a start leaves it as it is`;
  return (
    `the store in ${state} has format ${format}: a start writes it anew in format ${written}, and keeps it as it is in ` +
    `${state}/before-${written}`
  );
}

async function examined(store: StateThread): ReturnType<StateThread['examine']> {
  try {
    return await store.examine();
  } finally {
    await store.close();
  }
}

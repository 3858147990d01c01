/** Answers that a page shows: read when it opens, and anew when the server was away or an event says so. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { send, type Call } from '../api/call.js';
import { onServerEvent } from '../api/notifications.js';
import { reconnections } from './connection.js';

interface Reading<Answer> {
  readonly answer: ReadonlySignal<Answer | undefined>;
  readonly error: ReadonlySignal<unknown>;
  /** Reads it again. */
  readonly again: () => Promise<void>;
}

/** Events that come together cause one call. */
const TOGETHER_MS = 150;

/** `key` says what is read: another one is read at once. */
export function useReading<Answer>(
  key: string,
  call: () => Call<Answer>,
  isAffected: (action: string, event: unknown) => boolean = () => false,
): Reading<Answer> {
  const answer = useSignal<Answer | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const newest = useRef(0);
  const again = async (): Promise<void> => {
    const number = ++newest.current;
    try {
      const found = await send(call());
      // An older answer may come later than a newer one.
      if (number !== newest.current) return;
      answer.value = found;
      error.value = undefined;
    } catch (reason) {
      if (number === newest.current) error.value = reason;
    }
  };
  const { value: reconnected } = reconnections;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    answer.value = undefined;
    void again();
    const end = onServerEvent(({ action, event }) => {
      if (!isAffected(action, event)) return;
      clearTimeout(timer);
      timer = setTimeout(() => void again(), TOGETHER_MS);
    });
    return () => {
      end();
      clearTimeout(timer);
      newest.current++;
    };
  }, [key]);
  useEffect(() => {
    if (reconnected > 0) void again();
  }, [reconnected]);
  return { answer, error, again };
}

/** Answers that a page shows: read when it opens, and anew when the server was away or an event says so. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { send, type Call } from '../api/call.js';
import { onServerEvent } from '../api/notifications.js';
import { reconnections } from './connection.js';
import { failed } from './toasts.js';

interface Reading<Answer> {
  readonly answer: ReadonlySignal<Answer | undefined>;
  readonly error: ReadonlySignal<unknown>;
  /** Reads it again. */
  readonly again: () => Promise<void>;
  /**
   * Shows at once what the call is about to do, and resolves with whether it was done. What is refused is told in the server's
   * words and taken back.
   */
  readonly change: <Result>(
    guess: (now: Answer) => Answer,
    call: Call<Result>,
    onDone?: (result: Result) => void,
  ) => Promise<boolean>;
}

/** Events that come together cause one call. */
const TOGETHER_MS = 150;

type IsAffected = (action: string, event: unknown) => boolean;

/** `key` says what is read: another one is read at once. */
export function useReading<Answer>(
  key: string,
  call: () => Call<Answer>,
  isAffected?: IsAffected,
): Reading<Answer> {
  return useReadings(key, () => send(call()), isAffected);
}

/** The same for what takes several calls. */
export function useReadings<Answer>(
  key: string,
  read: () => Promise<Answer>,
  isAffected: IsAffected = () => false,
): Reading<Answer> {
  const answer = useSignal<Answer | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const newest = useRef(0);
  const again = async (): Promise<void> => {
    const number = ++newest.current;
    try {
      const found = await read();
      // An older answer may come later than a newer one.
      if (number !== newest.current) return;
      answer.value = found;
      error.value = undefined;
    } catch (reason) {
      if (number === newest.current) error.value = reason;
    }
  };
  const change: Reading<Answer>['change'] = async (guess, asked, onDone) => {
    const { value: before } = answer;
    // An answer that is on its way is older than what is shown from now on.
    newest.current++;
    if (before !== undefined) answer.value = guess(before);
    let isDone = true;
    try {
      const result = await send(asked);
      onDone?.(result);
    } catch (reason) {
      isDone = false;
      answer.value = before;
      failed(reason);
    }
    await again();
    return isDone;
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
  return { answer, error, again, change };
}

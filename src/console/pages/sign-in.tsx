/** Signing in, by user and password. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Failure } from '../parts/notice.js';
import { enter } from '../state/account.js';
import { TEXTS } from '../texts.js';

export function SignIn(): JSX.Element {
  const user = useSignal('');
  const password = useSignal('');
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${TEXTS.signIn.title} – ${TEXTS.product}`;
    field.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = undefined;
    try {
      await enter(user.value, password.value);
    } catch (reason) {
      error.value = reason;
    }
    isBusy.value = false;
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>{TEXTS.product}</h1>
        <label>
          {TEXTS.signIn.user}
          <input
            ref={field}
            autocomplete="username"
            required
            value={user}
            onInput={({ currentTarget }) => (user.value = currentTarget.value)}
          />
        </label>
        <label>
          {TEXTS.signIn.password}
          <input
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onInput={({ currentTarget }) => (password.value = currentTarget.value)}
          />
        </label>
        {error.value !== undefined && <Failure error={error.value} />}
        <button class="primary">{TEXTS.signIn.submit}</button>
      </form>
    </main>
  );
}

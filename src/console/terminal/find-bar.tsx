/** Finds text in what a terminal holds. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Screen } from './screen.js';
import { TERMINAL_TEXTS as texts } from './texts.js';

interface FindBarProps {
  readonly screen: Screen;
  readonly onClose: () => void;
}

export function FindBar({ screen, onClose }: FindBarProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const typed = useSignal('');
  const isFound = useSignal(true);
  useEffect(() => field.current?.focus(), []);
  const find = (way: 'next' | 'previous' | 'typed'): void => {
    isFound.value = screen.find(typed.value, way);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const actions: Readonly<Record<string, () => void>> = {
      Escape: onClose,
      Enter: () => find(event.shiftKey ? 'previous' : 'next'),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    <div class="bar find-bar" role="search">
      <input
        ref={field}
        type="search"
        aria-label={texts.findHint}
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
          find('typed');
        }}
        onKeyDown={onKeyDown}
      />
      <button type="button" onClick={() => find('previous')}>
        {texts.previous}
      </button>
      <button type="button" onClick={() => find('next')}>
        {texts.next}
      </button>
      <span role="status">{!isFound.value && texts.missing}</span>
    </div>
  );
}

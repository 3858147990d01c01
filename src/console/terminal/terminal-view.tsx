/** The terminal of a node with its bar: who is there, what can be done, and how the connection is. */
import { useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { send } from '../api/call.js';
import { terminalDocument } from '../api/documents.js';
import { actOnNode } from '../api/lab.js';
import { saveFile } from '../parts/download.js';
import { Toasts } from '../parts/toasts.js';
import { account } from '../state/account.js';
import { mayOn, useGrant } from '../state/grants.js';
import { changeTerminalText, scheme, terminalText } from '../state/preferences.js';
import { failed } from '../state/toasts.js';
import { ConsoleLink } from './console-link.js';
import { FindBar } from './find-bar.js';
import { sentenceAbout } from './people.js';
import { isTile, onOrder, report } from './messages.js';
import { PasteLines } from './paste-lines.js';
import { Screen } from './screen.js';
import { TERMINAL_TEXTS as texts } from './texts.js';

interface TerminalProps {
  readonly lab: string;
  readonly node: string;
}

const LARGER = 2;

export function TerminalView({ lab, node }: TerminalProps): JSX.Element {
  useGrant(lab);
  const place = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLElement>(null);
  const isFinding = useSignal(false);
  /** Each paste asks by a dialog of its own: one that closes at this moment does not take the next along. */
  const pasting = useSignal<{ readonly text: string; readonly number: number } | undefined>(undefined);
  const pastes = useRef(0);
  /** So many terminals get what is typed here. */
  const among = useSignal(1);
  const [screen, link] = useMemo(() => {
    const leave = (): void => {
      if (isTile) report({ is: 'left' });
      else bar.current?.querySelector('button')?.focus();
    };
    const made: Screen = new Screen({
      onTyped: (bytes, text) => {
        connected.type(bytes);
        if (text !== undefined && among.value > 1) report({ is: 'typed', text });
      },
      onResized: () => connected.resize(),
      onPasting: (text) => (pasting.value = { text, number: pastes.current++ }),
      onLeave: leave,
      onFind: () => (isFinding.value = true),
    });
    const connected = new ConsoleLink(lab, node, {
      onBytes: (bytes) => made.write(bytes),
      onBegin: () => made.clear(),
      size: () => made.size,
    });
    return [made, connected] as const;
  }, []);
  const name = link.node.value?.name ?? '';

  useEffect(() => {
    if (place.current === null) return undefined;
    const close = screen.open(place.current);
    link.connect();
    const end = onOrder((order) => {
      if (order.do === 'type') link.type(new TextEncoder().encode(order.text));
      if (order.do === 'share') among.value = order.among;
    });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const adopt = (): void => screen.adopt();
    dark.addEventListener('change', adopt);
    report({ is: 'ready' });
    return () => {
      end();
      dark.removeEventListener('change', adopt);
      link.close();
      close();
    };
  }, []);
  useSignalEffect(() => {
    screen.fontSize = terminalText.value;
  });
  useSignalEffect(() => {
    void scheme.value;
    screen.adopt();
  });
  useEffect(() => {
    if (name === '') return;
    document.title = texts.titleOf(name);
    screen.name(texts.input(name));
  }, [name]);
  // A session that began elsewhere in this browser counts here, too.
  useEffect(() => {
    if (link.state.value.is === 'over' && typeof account.value === 'object') link.connect();
  }, [account.value]);

  const openWindow = (): void => {
    window.open(terminalDocument(lab, node), `wirefarm-${node}`, 'popup,width=800,height=500');
    report({ is: 'closed' });
  };
  const start = (): void => void send(actOnNode(lab, node, 'start')).then(() => link.connect(), failed);
  return (
    <div class={among.value > 1 ? 'terminal shared' : 'terminal'}>
      <header ref={bar} class="bar">
        <h1>{name === '' ? texts.title : name}</h1>
        <State link={link} />
        <span class="others" role="status">
          {sentenceAbout(link.news.value?.others ?? [])}
        </span>
        <span class="buttons" role="group" aria-label={texts.titleOf(name)}>
          <button
            type="button"
            aria-pressed={isFinding.value}
            onClick={() => (isFinding.value = !isFinding.value)}
          >
            {texts.find}
          </button>
          <button type="button" aria-label={texts.smaller} onClick={() => changeTerminalText(-LARGER)}>
            A−
          </button>
          <button type="button" aria-label={texts.larger} onClick={() => changeTerminalText(LARGER)}>
            A+
          </button>
          <button
            type="button"
            onClick={() => saveFile(new Blob([screen.text], { type: 'text/plain' }), `${name}.txt`)}
          >
            {texts.save}
          </button>
          <button
            type="button"
            aria-pressed={link.isWatching.value}
            onClick={() => link.watch(!link.isWatching.value)}
          >
            {texts.watch}
          </button>
          {isTile && (
            <button type="button" onClick={openWindow}>
              {texts.window}
            </button>
          )}
          {isTile && (
            <button type="button" aria-label={texts.close} onClick={() => report({ is: 'closed' })}>
              ✕
            </button>
          )}
        </span>
      </header>
      {among.value > 1 && (
        <p class="sharing" role="status">
          {texts.sharing(among.value)}
        </p>
      )}
      <Trouble lab={lab} link={link} onStart={start} />
      <main class="place">
        {isFinding.value && (
          <FindBar
            screen={screen}
            onClose={() => {
              isFinding.value = false;
              screen.focus();
            }}
          />
        )}
        <div class="screen" ref={place} />
      </main>
      {pasting.value !== undefined && (
        <PasteLines
          key={pasting.value.number}
          text={pasting.value.text}
          onPaste={(text) => screen.paste(text)}
          onClose={() => {
            pasting.value = undefined;
            screen.focus();
          }}
        />
      )}
      <Toasts />
    </div>
  );
}

/** In words and by its shape, not by its colour alone. */
function State({ link }: { readonly link: ConsoleLink }): JSX.Element {
  const { is } = link.state.value;
  const isLive = is === 'connected';
  return (
    <span class={isLive ? 'state good' : 'state warn'} role="status">
      <span aria-hidden="true">{isLive ? '●' : '○'}</span> {texts.states[is]}
    </span>
  );
}

/** The reason for which nothing can be typed, and what can be done about it. */
function Trouble({
  lab,
  link,
  onStart,
}: {
  readonly lab: string;
  readonly link: ConsoleLink;
  readonly onStart: () => void;
}): JSX.Element | null {
  const { value: state } = link.state;
  if (state.is === 'connecting' || state.is === 'connected') return null;
  const isSignedOut = account.value === 'signed out';
  const sentence = 'sentence' in state ? state.sentence : texts.stopped;
  return (
    <div class="trouble" role="alert">
      <p>{isSignedOut ? texts.signedOut : sentence}</p>
      {state.is === 'stopped' && mayOn(lab, 'run') && (
        <button type="button" class="primary" onClick={onStart}>
          {texts.start}
        </button>
      )}
      {(state.is === 'lost' || state.is === 'over') && (
        <button type="button" onClick={() => link.connect()}>
          {texts.connect}
        </button>
      )}
    </div>
  );
}

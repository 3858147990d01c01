/** Consoles of several nodes of a lab, side by side. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { terminalDocument } from '../api/documents.js';
import { showLab, showMap } from '../api/lab.js';
import { Chooser } from '../parts/chooser.js';
import { ClosedLab } from '../parts/closed-lab.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { useKeys } from '../state/keys.js';
import { addressOf, consolesAddress, go } from '../state/place.js';
import { useReading } from '../state/reading.js';
import { onReport, type TileOrder } from '../terminal/messages.js';
import { TERMINAL_TEXTS as texts } from '../terminal/texts.js';
import { ConsoleTile } from './console-tile.js';
import type { PageProps } from './page-props.js';

/** Each is a document of its own. */
const MOST_TILES = 16;

const idOf = (event: unknown): unknown => (event as { project_id?: unknown }).project_id;

export function ConsolesPage({ params: { id = '' }, query }: PageProps): JSX.Element {
  const { answer, error } = useReading(
    id,
    () => showLab(id),
    (action, event) => action.startsWith('project.') && idOf(event) === id,
  );
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const { name, status } = answer.value;
  if (status === 'opened') return <Consoles id={id} name={name} query={query} />;
  return <ClosedLab id={id} />;
}

interface ConsolesProps {
  readonly id: string;
  readonly name: string;
  readonly query: URLSearchParams;
}

function Consoles({ id, name, query }: ConsolesProps): JSX.Element {
  const page = useRef<HTMLDivElement>(null);
  const isShared = useSignal(false);
  const { answer, error } = useReading(id, () => showMap(id));
  const wanted = (query.get('nodes') ?? '').split(',').filter((one) => one !== '');
  const shown = wanted.slice(0, MOST_TILES);
  const known = new Map((answer.value?.nodes ?? []).map((node) => [node.node_id, node]));
  const kindOf = (node: string): string => known.get(node)?.console_type ?? 'none';
  // A terminal says of a node that is not there why it has no console.
  const isTerminal = (node: string): boolean => !known.has(node) || kindOf(node) === 'telnet';
  const terminals = shown.filter(isTerminal);
  const nodes = [...known.values()]
    .filter((node) => kindOf(node.node_id) !== 'none')
    .map((node) => ({ id: node.node_id, name: node.name }))
    .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  const nameOf = (node: string): string => known.get(node)?.name ?? node;
  const panes = (): HTMLElement[] => [...(page.current?.querySelectorAll<HTMLElement>('.tiles > *') ?? [])];
  const tiles = (): HTMLIFrameElement[] => panes().filter((pane) => pane instanceof HTMLIFrameElement);
  const order = (tile: HTMLIFrameElement | undefined, message: TileOrder): void =>
    tile?.contentWindow?.postMessage(message, location.origin);
  // A message would come later than the next keys.
  const enter = (pane: HTMLElement | undefined): void =>
    pane instanceof HTMLIFrameElement
      ? pane.contentDocument?.querySelector<HTMLElement>('.screen textarea')?.focus()
      : pane?.focus();
  const close = (node: string | undefined): void =>
    go(
      consolesAddress(
        id,
        shown.filter((other) => other !== node),
      ),
    );
  const share = (): void => {
    const all = tiles();
    for (const tile of all) order(tile, { do: 'share', among: isShared.value ? all.length : 1 });
  };
  const nextPane = (): void => {
    const all = panes();
    const names = [...(page.current?.querySelectorAll('.console-names button') ?? [])];
    const { activeElement: focused } = document;
    const now = names.findIndex((name, index) => name === focused || all[index]?.contains(focused));
    enter(all[now + 1] ?? all[0]);
  };
  useKeys({ F6: nextPane });
  useEffect(share, [isShared.value, shown.join()]);
  useEffect(
    () =>
      onReport((report, from) => {
        const all = tiles();
        const tile = all.find(({ contentWindow }) => contentWindow === from);
        if (tile === undefined) return;
        const index = panes().indexOf(tile);
        switch (report.is) {
          case 'ready':
            share();
            // Nobody has gone anywhere else meanwhile.
            if (index === 0 && !(document.activeElement instanceof HTMLButtonElement)) enter(tile);
            break;
          case 'left':
            page.current?.querySelectorAll<HTMLElement>('.console-names button')[index]?.focus();
            break;
          case 'closed':
            close(tile.dataset['node']);
            break;
          case 'typed':
            if (!isShared.value) break;
            for (const other of all) if (other !== tile) order(other, { do: 'type', text: report.text });
        }
      }),
    [id, shown.join()],
  );
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  return (
    <div ref={page} class="page consoles">
      <div class="bar">
        <h1>{texts.title}</h1>
        <span class="count">
          <a href={addressOf('labs', id)}>{name}</a>
        </span>
        <Chooser
          title={texts.nodes}
          things={nodes}
          chosen={wanted}
          onChange={(chosen) => go(consolesAddress(id, chosen))}
          none={texts.none}
          some={texts.chosen}
          hasNone={false}
        />
        <div class="console-names" role="group" aria-label={texts.shown}>
          {shown.map((node, index) => (
            <button
              key={node}
              type="button"
              aria-label={texts.focus(nameOf(node))}
              onClick={() => enter(panes()[index])}
            >
              {nameOf(node)}
            </button>
          ))}
        </div>
        {terminals.length > 1 && (
          <button
            type="button"
            aria-pressed={isShared.value}
            onClick={() => (isShared.value = !isShared.value)}
          >
            {texts.share}
          </button>
        )}
        {terminals.length > 0 && <span class="hint wide">{texts.hint}</span>}
      </div>
      {wanted.length > MOST_TILES && <p class="hint">{texts.tooMany(MOST_TILES)}</p>}
      {shown.length === 0 ? (
        <Empty>
          <p>{nodes.length === 0 ? texts.noNode : texts.choose}</p>
        </Empty>
      ) : (
        <div class="tiles">
          {shown.map((node) =>
            isTerminal(node) ? (
              <iframe
                key={node}
                data-node={node}
                title={texts.titleOf(nameOf(node))}
                src={terminalDocument(id, node)}
              />
            ) : (
              <ConsoleTile key={node} lab={id} node={node} name={nameOf(node)} onClose={() => close(node)} />
            ),
          )}
        </div>
      )}
    </div>
  );
}

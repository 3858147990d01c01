/** The tile of a node whose console is no text: what it is, where it is, and what opens it. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { send } from '../api/call.js';
import { actOnNode, showNode } from '../api/lab.js';
import { CopiedLine } from '../parts/copied-line.js';
import { saveFile } from '../parts/download.js';
import { Failure, Loading } from '../parts/notice.js';
import { mayOn, useGrant } from '../state/grants.js';
import { useReading } from '../state/reading.js';
import { failed } from '../state/toasts.js';
import { TERMINAL_TEXTS as texts } from '../terminal/texts.js';
import { consolePlace } from '../map/console-place.js';

interface ConsoleTileProps {
  readonly lab: string;
  readonly node: string;
  readonly name: string;
  readonly onClose: () => void;
}

/** So often the node is looked at, as a terminal does when its node does not run. */
const LOOK_MS = 2000;

export function ConsoleTile({ lab, node, name, onClose }: ConsoleTileProps): JSX.Element {
  useGrant(lab);
  const { answer, error, again } = useReading(node, () => showNode(lab, node));
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && void again(), LOOK_MS);
    return () => clearInterval(timer);
  }, [node]);
  const facts = error.value === undefined ? answer.value : undefined;
  const place = facts && consolePlace(facts, location.hostname);
  const { viewerFile } = place ?? {};
  const isStopped = facts?.status === 'stopped';
  const start = (): void => void send(actOnNode(lab, node, 'start')).then(again, failed);
  return (
    <section class="tile" aria-label={texts.titleOf(name)} tabIndex={-1}>
      <header class="bar">
        <h2>{name}</h2>
        {facts && (
          <span class={isStopped ? 'state warn' : 'state good'} role="status">
            <span aria-hidden="true">{isStopped ? '○' : '●'}</span> {isStopped ? texts.idle : texts.runs}
          </span>
        )}
        <button type="button" class="bare" aria-label={texts.closeOf(name)} onClick={onClose}>
          ✕
        </button>
      </header>
      {error.value !== undefined && <Failure error={error.value} />}
      {facts === undefined && error.value === undefined && <Loading />}
      {facts && <p>{texts.noText(place?.kind ?? 'none', place?.at ?? '')}</p>}
      {place?.isFar === true && <p class="hint">{texts.far}</p>}
      {place && (
        <div class="buttons">
          <CopiedLine line={place.url} />
        </div>
      )}
      <div class="buttons">
        {place && (
          <a class="button" href={place.url} target="_blank" rel="noopener noreferrer">
            {viewerFile === undefined ? texts.openPage : texts.openViewer}
          </a>
        )}
        {viewerFile !== undefined && (
          <button type="button" onClick={() => saveFile(new Blob([viewerFile]), `${name}.vv`)}>
            {texts.saveViewer}
          </button>
        )}
        {isStopped && mayOn(lab, 'run') && (
          <button type="button" onClick={start}>
            {texts.start}
          </button>
        )}
      </div>
    </section>
  );
}

/** The changes since a snapshot: what was added, removed and changed, and the lines of files. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ComparisonShape, FileChangeShape, SnapshotShape } from '../../api/shapes/snapshots.js';
import { send } from '../api/call.js';
import { compareFile } from '../api/snapshots.js';
import { mayOn } from '../state/grants.js';
import { failed } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

const { snapshots: texts } = TEXTS;
/** Labs of thousands of changed nodes are restored as a whole. */
const MOST_BUTTONS = 40;
const OF_NODE = /^project-files\/[^/]+\/([^/]+)\/(.+)$/;

export interface NamedNode {
  readonly id: string;
  readonly name: string;
}

export interface FoundChanges {
  readonly changes: ComparisonShape;
  /** The names of the nodes that the lab has now, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

interface ChangesProps extends FoundChanges {
  readonly snapshot: SnapshotShape;
  readonly onRestore: (node: NamedNode) => void;
}

/** The marks say which way something has changed, and the words say it, too. */
export function SnapshotChanges({ changes, names, snapshot, onRestore }: ChangesProps): JSX.Element {
  const { settings, files, ...groups } = changes;
  const nameOf = (id: string): string => names.get(id) ?? id;
  const lines = [
    ...settings.map((name) => `~ ${texts.changed} ${texts.setting} ${name}`),
    ...Object.entries(groups).flatMap(([group, { added, removed, changed }]) => {
      const what = texts.groups[group as keyof typeof groups];
      return [
        ...added.map((id) => `+ ${texts.added} ${what} ${nameOf(id)}`),
        ...removed.map((id) => `− ${texts.removed} ${what} ${nameOf(id)}`),
        ...changed.map((id) => `~ ${texts.changed} ${what} ${nameOf(id)}`),
      ];
    }),
  ];
  const paths = [
    ...files.added.map((path) => ({ path, mark: `+ ${texts.added}` })),
    ...files.removed.map((path) => ({ path, mark: `− ${texts.removed}` })),
    ...files.changed.map((path) => ({ path, mark: `~ ${texts.changed}` })),
  ];
  if (lines.length + paths.length === 0) return <p role="status">{texts.same}</p>;
  const owners = paths.map(({ path }) => OF_NODE.exec(path)?.[1] ?? '').filter((id) => names.has(id));
  const nodes = [...new Set([...changes.nodes.changed, ...changes.nodes.removed, ...owners])];
  return (
    <>
      <ul class="names changes" aria-label={texts.since} tabIndex={0}>
        {lines.map((line, index) => (
          <li key={index}>{line}</li>
        ))}
        {paths.map(({ path, mark }) => (
          <FileLine key={path} snapshot={snapshot} path={path} mark={mark} name={fileName(path, names)} />
        ))}
      </ul>
      {mayOn(snapshot.project_id, 'projects:write') && nodes.length > 0 && (
        <div class="buttons">
          {nodes.slice(0, MOST_BUTTONS).map((id) => (
            <button key={id} type="button" onClick={() => onRestore({ id, name: nameOf(id) })}>
              {texts.restoreNode(nameOf(id))}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

/** Files of a node stand below its name. */
function fileName(path: string, names: ReadonlyMap<string, string>): string {
  const [, id = '', rest = ''] = OF_NODE.exec(path) ?? [];
  const name = names.get(id);
  return name === undefined ? path : `${name}/${rest}`;
}

interface FileLineProps {
  readonly snapshot: SnapshotShape;
  readonly path: string;
  readonly mark: string;
  readonly name: string;
}

function FileLine({ snapshot, path, mark, name }: FileLineProps): JSX.Element {
  const change = useSignal<FileChangeShape | undefined>(undefined);
  const isShown = useSignal(false);
  const toggle = async (): Promise<void> => {
    isShown.value = !isShown.value;
    if (!isShown.value) return;
    try {
      change.value = await send(compareFile(snapshot, path));
    } catch (error) {
      isShown.value = false;
      failed(error);
    }
  };
  const { value: found } = change;
  return (
    <li>
      {`${mark} ${texts.groups.files} ${name} `}
      {found?.kind === 'text' && <span class="mono">{`+${found.added} −${found.removed} `}</span>}
      <button
        type="button"
        class="bare"
        aria-expanded={isShown.value}
        aria-label={texts.showFile(name)}
        onClick={() => void toggle()}
      >
        {isShown.value ? texts.hide : texts.show}
      </button>
      {isShown.value && found !== undefined && <Contents change={found} name={name} />}
    </li>
  );
}

function Contents({
  change,
  name,
}: {
  readonly change: FileChangeShape;
  readonly name: string;
}): JSX.Element {
  const { kind, before, after, hunks, is_cut: isCut } = change;
  if (kind !== 'text') return <p class="hint">{texts.noText(kind, before, after)}</p>;
  return (
    <>
      <pre class="diff" role="region" aria-label={texts.contents(name)} tabIndex={0}>
        {hunks.map(({ before: then, after: now, lines }) => [
          <span key={`${then} ${now}`} class="hunk">{`@@ −${then} +${now} @@\n`}</span>,
          ...lines.map((line, index) => (
            <span key={`${then} ${now} ${index}`} class={CLASSES[line[0] ?? ' ']}>{`${line}\n`}</span>
          )),
        ])}
      </pre>
      {isCut && <p class="hint">{texts.cut}</p>}
    </>
  );
}

const CLASSES: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed' };

/** The map of a lab: tools, outline, canvas and inspector. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { arrange } from '../map/arranging.js';
import { MapCommands } from '../map/commands.js';
import { DrawingDialog } from '../map/drawing-dialog.js';
import { AddNode, LinkNodes, RemoveSelected, RenameNode } from '../map/dialogs.js';
import { Inspector } from '../map/inspector.js';
import { LabMap } from '../map/lab-map.js';
import { LayerMenu } from '../map/layer-menu.js';
import { Eye, MapCanvas } from '../map/map-canvas.js';
import { Outline } from '../map/outline.js';
import { MAP_TEXTS } from '../map/texts.js';
import { EndTime } from './end-time.js';
import { ClosedLab } from '../parts/closed-lab.js';
import { Failure, Loading } from '../parts/notice.js';
import { mayOn, useGrant } from '../state/grants.js';
import { useCommands, type PaletteCommand } from '../state/commands.js';
import { useKeys, type KeyMap } from '../state/keys.js';
import { addressOf, consolesAddress, go, packetsAddress } from '../state/place.js';

type Opened =
  | undefined
  | { readonly what: 'add' | 'remove' | 'end' }
  | { readonly what: 'rename'; readonly id: string }
  | { readonly what: 'drawing'; readonly id: string | undefined }
  | { readonly what: 'link'; readonly from: string; readonly to: string | undefined };

interface MapPageProps {
  readonly params: Readonly<Record<string, string>>;
}

export function MapPage({ params: { id = '' } }: MapPageProps): JSX.Element {
  const lab = useMemo(() => new LabMap(id), [id]);
  useEffect(() => lab.open(), [lab]);
  useGrant(id);
  if (lab.error.value !== undefined) return <Failure error={lab.error.value} />;
  if (lab.state.value === 'reading') return <Loading />;
  if (lab.state.value === 'shown') return <OpenLab lab={lab} />;
  return <ClosedLab id={id} />;
}

function OpenLab({ lab }: { readonly lab: LabMap }): JSX.Element {
  const commands = useMemo(() => new MapCommands(lab), [lab]);
  const eye = useMemo(() => new Eye(lab), [lab]);
  const opened = useSignal<Opened>(undefined);
  const page = useRef<HTMLDivElement>(null);
  const close = (): void => {
    opened.value = undefined;
  };
  const inspect = (): void => {
    page.current?.querySelector<HTMLElement>('.inspector')?.focus();
  };
  const actions = actionsOf(lab, commands, eye, (what) => (opened.value = what));
  useKeys(actions.keys);
  useCommands(() => actions.palette);
  void lab.revision.value;
  const { undo, redo } = commands.history.value;
  const { nodes, links, drawings } = lab.scene;
  return (
    <div ref={page} class="page map-page">
      <div class="map-tools" role="toolbar" aria-label={MAP_TEXTS.toolbar}>
        <h1>{lab.name.value}</h1>
        {actions.tools.map(({ name, keys, run }) => (
          <button key={name} type="button" title={keys} onClick={run}>
            {name}
          </button>
        ))}
        {mayOn(lab.id, 'projects:write') && (
          <>
            <button
              type="button"
              title={undo}
              disabled={undo === undefined}
              onClick={() => void commands.undo()}
            >
              {MAP_TEXTS.undo}
            </button>
            <button
              type="button"
              title={redo}
              disabled={redo === undefined}
              onClick={() => void commands.redo()}
            >
              {MAP_TEXTS.redo}
            </button>
          </>
        )}
        <LayerMenu />
        <span class="count">
          {MAP_TEXTS.count(nodes.length, links.length)}
          {drawings.all.length > 0 && `, ${MAP_TEXTS.drawn(drawings.all.length)}`}
        </span>
      </div>
      <div class="map-panes">
        <Outline lab={lab} eye={eye} onOpened={inspect} />
        <MapCanvas
          lab={lab}
          commands={commands}
          eye={eye}
          onLinked={(from, to) => (opened.value = { what: 'link', from, to })}
          onOpened={inspect}
        />
        <Inspector
          lab={lab}
          commands={commands}
          onRemove={() => (opened.value = { what: 'remove' })}
          onRename={() => actions.keys['F2']?.()}
          onEdit={() => actions.keys['F2']?.()}
        />
      </div>
      {nodes.length === 0 && <p class="hint">{MAP_TEXTS.empty}</p>}
      <p class="unseen" role="status">
        {lab.said.value}
      </p>
      {opened.value?.what === 'add' && (
        <AddNode lab={lab} commands={commands} view={eye.view} onClose={close} />
      )}
      {opened.value?.what === 'end' && <EndTime id={lab.id} name={lab.name.value} onClose={close} />}
      {opened.value?.what === 'remove' && <RemoveSelected lab={lab} commands={commands} onClose={close} />}
      {opened.value?.what === 'rename' && (
        <RenameNode lab={lab} commands={commands} id={opened.value.id} onClose={close} />
      )}
      {opened.value?.what === 'drawing' && (
        <DrawingDialog lab={lab} commands={commands} view={eye.view} id={opened.value.id} onClose={close} />
      )}
      {opened.value?.what === 'link' && (
        <LinkNodes
          lab={lab}
          commands={commands}
          from={opened.value.from}
          to={opened.value.to}
          onClose={close}
        />
      )}
    </div>
  );
}

interface Actions {
  readonly keys: KeyMap;
  readonly tools: readonly PaletteCommand[];
  readonly palette: readonly PaletteCommand[];
}

/** Everything that can be done by a key, a button or the palette; no more than this account may do. */
function actionsOf(lab: LabMap, commands: MapCommands, eye: Eye, open: (what: Opened) => void): Actions {
  const isEditor = mayOn(lab.id, 'projects:write');
  const runs = mayOn(lab.id, 'run');
  const all = (): string[] => lab.scene.nodes.map(({ id }) => id);
  const command = (isOffered: boolean, name: string, keys: string, run: () => void): PaletteCommand[] =>
    isOffered ? [{ name, keys, run }] : [];
  const beginLink = (): void => {
    const [from] = lab.nodes;
    if (from === undefined) lab.say(MAP_TEXTS.noSelection);
    else open({ what: 'link', from, to: lab.nodes[1] });
  };
  const pointAtOther = (): void => {
    const [from] = lab.nodes;
    if (from === undefined || lab.nodes.length > 1) {
      beginLink();
      return;
    }
    lab.say(MAP_TEXTS.linkHint(lab.nameOf(from)));
    eye.beginLink(from);
  };
  const rename = (): void => {
    const [id] = lab.nodes;
    const [drawing] = lab.drawings;
    if (id !== undefined) open({ what: 'rename', id });
    else if (drawing !== undefined) open({ what: 'drawing', id: drawing });
  };
  const openConsoles = (): void => {
    const { consoles } = lab;
    if (consoles.length === 0) lab.say(lab.nodes.length === 0 ? MAP_TEXTS.noSelection : MAP_TEXTS.noConsole);
    else go(consolesAddress(lab.id, consoles));
  };
  const act = (action: 'start' | 'stop' | 'reload') => (): void => {
    if (lab.nodes.length > 0) void commands.act(lab.nodes, action);
  };
  const editing = [
    ...command(isEditor, MAP_TEXTS.add, 'a', () => open({ what: 'add' })),
    ...command(isEditor, MAP_TEXTS.link, 'l', beginLink),
    ...command(isEditor, MAP_TEXTS.draw, 'n', () => open({ what: 'drawing', id: undefined })),
    ...command(isEditor, MAP_TEXTS.arrange, '', () => void arrange(lab, commands)),
  ];
  const running = [
    ...command(runs, MAP_TEXTS.startAll, '', () => void commands.act(all(), 'start')),
    ...command(runs, MAP_TEXTS.stopAll, '', () => void commands.act(all(), 'stop')),
  ];
  const whole = [
    ...command(isEditor, MAP_TEXTS.plan, '', () => go(addressOf('labs', lab.id, 'plan'))),
    ...command(true, MAP_TEXTS.end, '', () => open({ what: 'end' })),
  ];
  const looking = [
    ...command(true, MAP_TEXTS.fit, '0', () => eye.fit()),
    ...command(true, MAP_TEXTS.larger, '+', () => eye.larger()),
    ...command(true, MAP_TEXTS.smaller, '-', () => eye.smaller()),
  ];
  const others = [
    ...command(isEditor, MAP_TEXTS.duplicate, 'd', () => void commands.duplicate(lab.nodes)),
    ...command(isEditor, MAP_TEXTS.remove, 'Delete', () => {
      if (lab.selected.value.size > 0) open({ what: 'remove' });
    }),
    ...command(isEditor, MAP_TEXTS.rename, 'F2', rename),
    ...command(isEditor, MAP_TEXTS.undo, 'Ctrl+z', () => void commands.undo()),
    ...command(isEditor, MAP_TEXTS.redo, 'Ctrl+Shift+z', () => void commands.redo()),
    ...command(runs, MAP_TEXTS.start, 's', act('start')),
    ...command(runs, MAP_TEXTS.stop, 'x', act('stop')),
    ...command(runs, MAP_TEXTS.reload, 'r', act('reload')),
    ...command(
      runs,
      MAP_TEXTS.suspend,
      'z',
      () => void (lab.links.length > 0 && commands.suspend(lab.links)),
    ),
    ...command(mayOn(lab.id, 'capture'), MAP_TEXTS.captureStart, 'c', () => void commands.capture(lab.links)),
    ...command(mayOn(lab.id, 'console'), MAP_TEXTS.consoles, 't', openConsoles),
    ...command(mayOn(lab.id, 'capture'), MAP_TEXTS.packets, 'p', () => go(packetsAddress(lab.id, lab.links))),
  ];
  const listed = [...editing, ...running, ...whole, ...looking, ...others];
  const pointing = command(isEditor, MAP_TEXTS.link, 'l', pointAtOther);
  return {
    tools: [...editing.filter(({ keys }) => keys !== 'l'), ...pointing, ...running, ...whole, ...looking],
    palette: [
      ...listed,
      ...lab.scene.nodes.map(({ id, name }) => ({
        name,
        run: () => {
          lab.select([id]);
          eye.reveal(id);
        },
      })),
    ],
    keys: {
      ...Object.fromEntries(
        listed.filter(({ keys = '' }) => keys !== '').map(({ keys = '', run }) => [keys, run]),
      ),
      '=': () => eye.larger(),
      f: () => eye.fit(lab.selected.value),
      F6: nextPane,
      'Ctrl+a': () => lab.select([...lab.scene.drawings.all.map(({ id }) => id), ...all()]),
    },
  };
}

/** The outline, the map and the inspector, in turn. */
function nextPane(): void {
  const panes = [
    document.querySelector<HTMLElement>('.outline [role=row][tabindex="0"]'),
    document.querySelector<HTMLElement>('canvas.map'),
    document.querySelector<HTMLElement>('.inspector'),
  ];
  const now = panes.findIndex((pane) => pane?.contains(document.activeElement) === true);
  panes[(now + 1) % panes.length]?.focus();
}

/** The inspector: facts about the selection, and all that can be done with it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { send } from '../api/call.js';
import { capturePath, showNode } from '../api/lab.js';
import { OpenInWireshark } from '../packets/open-in-wireshark.js';
import { PACKET_TEXTS } from '../packets/texts.js';
import { mayOn } from '../state/grants.js';
import { consolesAddress, packetsAddress } from '../state/place.js';
import { failed } from '../state/toasts.js';
import type { MapCommands } from './commands.js';
import { consolePlace } from './console-place.js';
import { FilterHits } from './filter-hits.js';
import type { DrawingFacts } from './drawings.js';
import type { LabMap } from './lab-map.js';
import { LinkFilters } from './link-filters.js';
import type { LinkFacts, NodeFacts } from './scene.js';
import { MAP_TEXTS } from './texts.js';
import { short } from './words.js';

interface InspectorProps {
  readonly lab: LabMap;
  readonly commands: MapCommands;
  readonly onRemove: () => void;
  readonly onRename: () => void;
  /** Changes the drawing that is selected. */
  readonly onEdit: () => void;
}

export function Inspector(props: InspectorProps): JSX.Element {
  const { lab } = props;
  void lab.revision.value;
  const selected = [...lab.selected.value];
  const [first] = selected;
  const only = selected.length === 1 && first !== undefined ? first : undefined;
  const node = only === undefined ? undefined : lab.scene.node(only);
  const link = only === undefined ? undefined : lab.scene.link(only);
  const drawing = only === undefined ? undefined : lab.scene.drawings.get(only);
  return (
    <section class="inspector" aria-label={MAP_TEXTS.inspector} tabIndex={-1}>
      {node !== undefined && <NodeView key={node.id} {...props} node={node} />}
      {link !== undefined && <LinkView key={link.id} {...props} link={link} />}
      {drawing !== undefined && <DrawingView key={drawing.id} {...props} drawing={drawing} />}
      {selected.length === 0 && <p class="hint">{MAP_TEXTS.noSelection}</p>}
      {selected.length > 1 && (
        <>
          <h2>{MAP_TEXTS.selected(selected.length)}</h2>
          <Buttons {...props} />
        </>
      )}
    </section>
  );
}

function Buttons({ lab, commands, onRemove, onRename, onEdit }: InspectorProps): JSX.Element {
  const { nodes, links } = lab;
  return (
    <div class="buttons">
      {mayOn(lab.id, 'run') && nodes.length > 0 && (
        <>
          {(['start', 'stop', 'reload'] as const).map((action) => (
            <button key={action} type="button" onClick={() => void commands.act(nodes, action)}>
              {MAP_TEXTS[action]}
            </button>
          ))}
        </>
      )}
      {mayOn(lab.id, 'console') && lab.consoles.length > 0 && (
        <a class="button" href={consolesAddress(lab.id, lab.consoles)}>
          {MAP_TEXTS.consoles}
        </a>
      )}
      {mayOn(lab.id, 'run') && links.length > 0 && (
        <button type="button" onClick={() => void commands.suspend(links)}>
          {links.every((id) => lab.scene.link(id)?.isSuspended === true)
            ? MAP_TEXTS.resume
            : MAP_TEXTS.suspend}
        </button>
      )}
      {mayOn(lab.id, 'capture') && links.length > 0 && (
        <button type="button" onClick={() => void commands.capture(links)}>
          {links.every((id) => lab.scene.link(id)?.isCapturing === true)
            ? MAP_TEXTS.captureStop
            : MAP_TEXTS.captureStart}
        </button>
      )}
      {mayOn(lab.id, 'projects:write') && nodes.length === 1 && (
        <button type="button" onClick={onRename}>
          {MAP_TEXTS.rename}
        </button>
      )}
      {mayOn(lab.id, 'projects:write') && lab.drawings.length === 1 && lab.selected.value.size === 1 && (
        <button type="button" onClick={onEdit}>
          {MAP_TEXTS.edit}
        </button>
      )}
      {mayOn(lab.id, 'projects:write') && (
        <button type="button" class="danger" onClick={onRemove}>
          {MAP_TEXTS.remove}
        </button>
      )}
    </div>
  );
}

function NodeView({ node, ...props }: InspectorProps & { readonly node: NodeFacts }): JSX.Element {
  const { lab } = props;
  const whole = useSignal<NodeShape | undefined>(undefined);
  useEffect(() => {
    send(showNode(lab.id, node.id)).then((found) => (whole.value = found), failed);
  }, [node]);
  const links = lab.scene.linksOf(node.id);
  const place = whole.value && consolePlace(whole.value, location.hostname);
  return (
    <>
      <h2>{node.name}</h2>
      <dl>
        <dt>{MAP_TEXTS.type}</dt>
        <dd>{node.type}</dd>
        <dt>{MAP_TEXTS.state}</dt>
        <dd>{MAP_TEXTS.statuses[node.status]}</dd>
        {place && (
          <>
            <dt>{MAP_TEXTS.console}</dt>
            <dd class="mono">{`${place.kind} ${place.at}`}</dd>
          </>
        )}
        <dt>{MAP_TEXTS.place}</dt>
        <dd>
          {node.x}, {node.y}
        </dd>
        {Object.entries(whole.value?.properties ?? {})
          .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value) && value !== '')
          .map(([name, value]) => [
            <dt key={name}>{name}</dt>,
            <dd key={`${name} value`}>{String(value)}</dd>,
          ])}
      </dl>
      <Buttons {...props} />
      <h3>{MAP_TEXTS.links}</h3>
      <ul class="plain">
        {links.map(({ id }) => (
          <li key={id}>
            <button type="button" class="bare" onClick={() => lab.select([id])}>
              {lab.nameOf(id)}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function DrawingView({
  drawing,
  ...props
}: InspectorProps & { readonly drawing: DrawingFacts }): JSX.Element {
  const { x, y, z, isLocked, picture } = drawing;
  return (
    <>
      <h2>{props.lab.nameOf(drawing.id)}</h2>
      <dl>
        <dt>{MAP_TEXTS.place}</dt>
        <dd>
          {Math.round(x)}, {Math.round(y)}
        </dd>
        <dt>{MAP_TEXTS.extent}</dt>
        <dd>
          {Math.round(picture.width)} × {Math.round(picture.height)}
        </dd>
        <dt>{MAP_TEXTS.state}</dt>
        <dd>
          {MAP_TEXTS.layerOf(z)}
          {isLocked && `, ${MAP_TEXTS.isLocked}`}
        </dd>
      </dl>
      {picture.shapes.length === 0 && <p class="hint">{MAP_TEXTS.notShown}</p>}
      <Buttons {...props} />
    </>
  );
}

function LinkView({ link, ...props }: InspectorProps & { readonly link: LinkFacts }): JSX.Element {
  const { lab, commands } = props;
  void lab.rateRevision.value;
  const { scene } = lab;
  const index = scene.linkIndex(link.id) ?? 0;
  const [a = '', b = ''] = link.ends.map(
    ({ node, adapter, port }) => `${scene.node(node)?.name ?? '?'} ${adapter}/${port}`,
  );
  const totals = lab.counts.totals(link.id);
  const isOpening = useSignal(false);
  return (
    <>
      <h2>
        {a} – {b}
      </h2>
      <p>
        {link.isSuspended && `✖ ${MAP_TEXTS.suspended} `}
        {link.isCapturing && `● ${MAP_TEXTS.capturing}`}
      </p>
      <table>
        <caption>{MAP_TEXTS.ways}</caption>
        <thead>
          <tr>
            <th scope="col">{MAP_TEXTS.way}</th>
            <th scope="col">{MAP_TEXTS.frames}</th>
            <th scope="col">{MAP_TEXTS.bits}</th>
          </tr>
        </thead>
        <tbody>
          {[0, 2].map((column) => (
            <tr key={column}>
              <th scope="row">{column === 0 ? `→ ${b}` : `← ${a}`}</th>
              <td>{short(scene.rateOf(index, column))}</td>
              <td>{short(8 * scene.rateOf(index, column + 1))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        {MAP_TEXTS.drops}: {MAP_TEXTS.filtered(short(totals?.[4] ?? 0))},{' '}
        {MAP_TEXTS.otherwise(short(totals?.[5] ?? 0))}
        {(totals?.[6] ?? 0) > 0 && `, ${MAP_TEXTS.betweenHosts(short(totals?.[6] ?? 0))}`}
      </p>
      <FilterHits lab={lab} link={link} names={[b, a]} />
      <Buttons {...props} />
      {mayOn(lab.id, 'capture') && (
        <p class="buttons">
          <a href={packetsAddress(lab.id, [link.id])}>{MAP_TEXTS.packets}</a>
          <button type="button" onClick={() => (isOpening.value = true)}>
            {PACKET_TEXTS.wireshark.open}
          </button>
          {link.isCapturing && (
            <a href={capturePath(lab.id, link.id)} download>
              {MAP_TEXTS.captureFile}
            </a>
          )}
        </p>
      )}
      {isOpening.value && (
        <OpenInWireshark
          lab={lab.id}
          name={lab.nameOf(link.id)}
          selection={{ links: [link.id], bpf: '', snaplen: 0 }}
          onClose={() => (isOpening.value = false)}
        />
      )}
      {mayOn(lab.id, 'run') && <LinkFilters lab={lab} commands={commands} link={link} names={[b, a]} />}
    </>
  );
}

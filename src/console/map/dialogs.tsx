/** Dialogs of the map: adding a node, linking two, renaming and deleting. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { send } from '../api/call.js';
import {
  addFromTemplate,
  changeNodes,
  createLink,
  listTemplates,
  showNode,
  type NewLinkEnd,
  type TemplateShape,
} from '../api/lab.js';
import { Dialog } from '../parts/dialog.js';
import { failed } from '../state/toasts.js';
import type { MapCommands } from './commands.js';
import type { LabMap } from './lab-map.js';
import { freePlace } from './scene.js';
import type { View } from './view.js';
import { MAP_TEXTS } from './texts.js';
import { TextField } from '../parts/text-field.js';

interface DialogProps {
  readonly lab: LabMap;
  readonly commands: MapCommands;
  readonly onClose: () => void;
}

export function AddNode({
  lab,
  commands,
  view,
  onClose,
}: DialogProps & { readonly view: View }): JSX.Element {
  const templates = useSignal<readonly TemplateShape[]>([]);
  const words = useSignal('');
  const chosen = useSignal('');
  useEffect(() => {
    send(listTemplates()).then((found) => {
      templates.value = found;
    }, failed);
  }, []);
  const wanted = words.value.trim().toLowerCase();
  const fitting = templates.value.filter(({ name }) => name.toLowerCase().includes(wanted));
  const template = fitting.find(({ template_id: id }) => id === chosen.value) ?? fitting[0];
  const [x, y] = freePlace(lab.scene, view.x, view.y);
  return (
    <Dialog
      title={MAP_TEXTS.add}
      onClose={onClose}
      action={{
        name: MAP_TEXTS.add,
        call: addFromTemplate(lab.id, template?.template_id ?? '', x, y),
        isDisabled: template === undefined,
        run: () => {
          if (template !== undefined) void commands.add(template, x, y);
          onClose();
        },
      }}
    >
      <TextField label={MAP_TEXTS.addHint} value={words} />
      <select
        onKeyDown={submitByEnter}
        size={8}
        aria-label={MAP_TEXTS.type}
        value={template?.template_id ?? ''}
        onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
      >
        {fitting.map(({ template_id: id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </Dialog>
  );
}

interface LinkDialogProps extends DialogProps {
  readonly from: string;
  readonly to: string | undefined;
}

export function LinkNodes({ lab, commands, from, to, onClose }: LinkDialogProps): JSX.Element {
  const others = lab.scene.nodes.filter(({ id }) => id !== from);
  const far = useSignal(to ?? others[0]?.id ?? '');
  const ends = [
    useSignal<NewLinkEnd | undefined>(undefined),
    useSignal<NewLinkEnd | undefined>(undefined),
  ] as const;
  const [near, other] = [ends[0].value, ends[1].value];
  return (
    <Dialog
      title={MAP_TEXTS.link}
      onClose={onClose}
      action={{
        name: MAP_TEXTS.link,
        call: createLink(
          lab.id,
          [near, other].filter((end) => end !== undefined),
        ),
        isDisabled: near === undefined || other === undefined,
        run: () => {
          if (near !== undefined && other !== undefined) void commands.link(near, other);
          onClose();
        },
      }}
    >
      <PortChoice
        lab={lab}
        node={from}
        name={`${MAP_TEXTS.linkFrom}: ${lab.nameOf(from)}`}
        onChosen={(end) => (ends[0].value = end)}
      />
      <label>
        {MAP_TEXTS.linkTo}
        <select
          onKeyDown={submitByEnter}
          value={far.value}
          onChange={({ currentTarget }) => (far.value = currentTarget.value)}
        >
          {others.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <PortChoice
        key={far.value}
        lab={lab}
        node={far.value}
        name={`${MAP_TEXTS.linkTo}: ${lab.nameOf(far.value)}`}
        onChosen={(end) => (ends[1].value = end)}
      />
    </Dialog>
  );
}

interface PortChoiceProps {
  readonly lab: LabMap;
  readonly node: string;
  readonly name: string;
  readonly onChosen: (end: NewLinkEnd | undefined) => void;
}

/** The ports of a node that are free; the first of them is chosen. */
function PortChoice({ lab, node, name, onChosen }: PortChoiceProps): JSX.Element {
  const ports = useSignal<NodeShape['ports']>([]);
  const chosen = useSignal('');
  const ends = ports.value.map(({ adapter_number: adapter, port_number: port, name: title }) => ({
    key: `${adapter}/${port}`,
    title,
    end: { node_id: node, adapter_number: adapter, port_number: port },
  }));
  useEffect(() => {
    if (node === '') return;
    send(showNode(lab.id, node)).then(({ ports: all }) => {
      const used = new Set(
        lab.scene
          .linksOf(node)
          .flatMap((link) =>
            link.ends.filter((end) => end.node === node).map(({ adapter, port }) => `${adapter}/${port}`),
          ),
      );
      ports.value = all.filter((port) => !used.has(`${port.adapter_number}/${port.port_number}`));
      const [first] = ports.value;
      chosen.value = first === undefined ? '' : `${first.adapter_number}/${first.port_number}`;
      onChosen(
        first && { node_id: node, adapter_number: first.adapter_number, port_number: first.port_number },
      );
    }, failed);
  }, [node]);
  return (
    <label>
      {`${name}, ${MAP_TEXTS.port}`}
      <select
        onKeyDown={submitByEnter}
        value={chosen.value}
        onChange={({ currentTarget }) => {
          chosen.value = currentTarget.value;
          onChosen(ends.find(({ key }) => key === currentTarget.value)?.end);
        }}
      >
        {ends.length === 0 && <option value="">{MAP_TEXTS.noFreePort}</option>}
        {ends.map(({ key, title }) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function RenameNode({
  lab,
  commands,
  id,
  onClose,
}: DialogProps & { readonly id: string }): JSX.Element {
  const name = useSignal(lab.nameOf(id));
  return (
    <Dialog
      title={MAP_TEXTS.rename}
      onClose={onClose}
      action={{
        name: MAP_TEXTS.rename,
        call: changeNodes(lab.id, { update: [{ node_id: id, name: name.value }] }),
        isDisabled: name.value.trim() === '',
        run: () => {
          void commands.rename(id, name.value.trim());
          onClose();
        },
      }}
    >
      <TextField label={MAP_TEXTS.name} value={name} maxLength={255} />
    </Dialog>
  );
}

export function RemoveSelected({ lab, commands, onClose }: DialogProps): JSX.Element {
  const ids = [...lab.selected.value];
  return (
    <Dialog
      title={MAP_TEXTS.removeTitle(ids.length)}
      onClose={onClose}
      action={{
        name: MAP_TEXTS.remove,
        isDangerous: true,
        call: changeNodes(lab.id, { delete: lab.nodes }),
        run: () => {
          void commands.remove(ids);
          onClose();
        },
      }}
    >
      <p>
        {ids
          .slice(0, 8)
          .map((id) => lab.nameOf(id))
          .join(', ')}
      </p>
      <p>{MAP_TEXTS.removeFinal}</p>
    </Dialog>
  );
}

/** A list that is closed would open by this key; the dialog is done instead, as by a field of text. */
function submitByEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.currentTarget instanceof HTMLSelectElement)) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

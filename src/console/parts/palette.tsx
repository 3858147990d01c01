/** The palette: go anywhere, or do anything, by typing a part of its name. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { send } from '../api/call.js';
import { listLabFigures, listProjects } from '../api/projects.js';
import { learnGrants, mayOn } from '../state/grants.js';
import { allCommands, type PaletteCommand } from '../state/commands.js';
import { addressOf, consolesAddress, go, packetsAddress } from '../state/place.js';
import { TEXTS } from '../texts.js';

const MOST_SHOWN = 50;

export function Palette({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const chosen = useSignal(0);
  const labs = useSignal<readonly PaletteCommand[]>([]);
  useEffect(() => {
    dialog.current?.showModal();
    const ask = async (): Promise<void> => {
      const [projects, figures] = await Promise.all([send(listProjects()), send(listLabFigures())]);
      learnGrants(figures);
      labs.value = projects.flatMap(({ name, project_id: id, status }) => [
        { name: TEXTS.palette.openLab(name), run: () => go(addressOf('labs', id)) },
        { name: TEXTS.labs.snapshotsOf(name), run: () => go(addressOf('labs', id, 'snapshots')) },
        ...(status === 'opened' && mayOn(id, 'capture')
          ? [{ name: TEXTS.palette.packetsOf(name), run: () => go(packetsAddress(id, [])) }]
          : []),
        ...(status === 'opened' && mayOn(id, 'console')
          ? [{ name: TEXTS.palette.consolesOf(name), run: () => go(consolesAddress(id)) }]
          : []),
      ]);
    };
    // Without the labs the palette still has its commands.
    ask().catch(() => undefined);
  }, []);
  const found = useComputed(() => {
    const text = typed.value.trim().toLowerCase();
    const words = text.split(/\s+/);
    const isLater = ({ name }: PaletteCommand): number => Number(!name.toLowerCase().startsWith(text));
    return [...allCommands(), ...labs.value]
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .sort((one, other) => isLater(one) - isLater(other))
      .slice(0, MOST_SHOWN);
  });
  const run = (command: PaletteCommand | undefined): void => {
    if (command === undefined) return;
    dialog.current?.close();
    command.run();
  };
  const move = (steps: number): void => {
    const { length } = found.value;
    if (length > 0) chosen.value = (chosen.value + steps + length) % length;
    document.getElementById(`command-${chosen.value}`)?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => run(found.value[chosen.value]),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label={TEXTS.palette.title} onClose={onClose}>
      <input
        role="combobox"
        aria-label={TEXTS.palette.label}
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={found.value.length > 0 ? `command-${chosen.value}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={TEXTS.find}
        value={typed}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="commands" role="listbox" aria-label={TEXTS.palette.title} tabIndex={-1}>
        {found.value.map((command, index) => (
          <li
            key={`${command.name} ${index}`}
            id={`command-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            onClick={() => run(command)}
          >
            <span>{command.name}</span>
            {command.keys !== undefined && <kbd>{command.keys}</kbd>}
          </li>
        ))}
      </ul>
      {found.value.length === 0 && <p role="status">{TEXTS.palette.none}</p>}
    </dialog>
  );
}

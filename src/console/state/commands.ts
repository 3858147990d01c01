/** Commands for the palette. Those of a page come and go with it. */
import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

export interface PaletteCommand {
  readonly name: string;
  /** The keys that do the same. */
  readonly keys?: string;
  readonly run: () => void;
}

const sources = signal<ReadonlySet<() => readonly PaletteCommand[]>>(new Set());

/** Offers the commands while the component is there; they are asked for whenever the palette opens. */
export function useCommands(commands: () => readonly PaletteCommand[]): void {
  useLayoutEffect(() => {
    sources.value = new Set([...sources.peek(), commands]);
    return () => {
      sources.value = new Set([...sources.peek()].filter((source) => source !== commands));
    };
  });
}

export function allCommands(): PaletteCommand[] {
  return [...sources.value].flatMap((source) => source());
}

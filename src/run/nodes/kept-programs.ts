/** The programs that a keeper has kept since an earlier server, until their nodes take them over. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CustomAdapter } from '../../lab/kinds/custom-adapters.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import type { Program } from '../keeper/keeper.js';
import type { AdapterWire, UdpPorts } from '../links/udp-ports.js';

/** The memo that the keeper hands back with the program of a node. */
const nodeMemo = z.object({
  project: z.string(),
  commandLine: z.string(),
  wires: z.array(z.object({ index: z.int(), programPort: z.int(), enginePort: z.int() })),
  /** Whether its programs have a network of their own. */
  hasNetwork: z.boolean(),
  /** Tells the settings that it was started with from others. */
  settings: z.string(),
  /** By what the kind finds its program again. */
  own: z.unknown().optional(),
});

export type NodeMemo = z.infer<typeof nodeMemo>;

export interface KeptNode extends Omit<NodeMemo, 'project' | 'wires'> {
  /** The program of the node is the first, those that help it follow. */
  readonly programs: readonly [Program, ...Program[]];
  /** By the index of the port of the node. */
  readonly wires: ReadonlyMap<number, AdapterWire>;
}

export class KeptPrograms {
  /** Resolves when the projects that were open have opened, with their links. */
  readonly over: Promise<void>;
  readonly #udpPorts: UdpPorts;
  /** By the id of the node. */
  readonly #nodes = new Map<string, { readonly programs: Program[]; readonly memo: NodeMemo }>();

  readonly #memos: NodeMemo[] = [];
  #tellOver: () => void = () => undefined;

  constructor(udpPorts: UdpPorts) {
    this.#udpPorts = udpPorts;
    this.over = new Promise((resolve) => {
      this.#tellOver = resolve;
    });
  }

  /** The memos of all programs that were held, also of those that were taken. */
  get memos(): readonly NodeMemo[] {
    return this.#memos;
  }

  /** Call before projects open: nobody else gets the UDP ports of these programs. */
  hold(programs: readonly Program[]): void {
    const sorted = [...programs].sort((a, b) => a.id.length - b.id.length);
    for (const program of sorted) {
      const [nodeId = ''] = program.id.split('/');
      const helped = this.#nodes.get(nodeId);
      const memo = nodeMemo.safeParse(program.memo);
      if (helped !== undefined) helped.programs.push(program);
      else if (program.id === nodeId && memo.success) this.#hold(program, memo.data);
      else program.kill('SIGKILL');
    }
  }

  /** The node answers for the programs, and for their ports, from now on. */
  take(nodeId: string): KeptNode | undefined {
    const kept = this.#nodes.get(nodeId);
    this.#nodes.delete(nodeId);
    const [program, ...helpers] = kept?.programs ?? [];
    if (kept === undefined || program === undefined) return undefined;
    const wires = new Map(kept.memo.wires.map(({ index, ...wire }) => [index, wire]));
    return { ...kept.memo, programs: [program, ...helpers], wires };
  }

  /** Ends those that no node of an open project has taken. */
  endRest(): void {
    for (const [nodeId, { memo }] of this.#nodes) {
      const kept = this.take(nodeId);
      if (kept !== undefined) void endKept(kept);
      for (const port of portsOf(memo)) this.#udpPorts.release(port, memo.project);
    }
    this.#tellOver();
  }

  #hold(program: Program, memo: NodeMemo): void {
    this.#nodes.set(program.id, { programs: [program], memo });
    this.#memos.push(memo);
    for (const port of portsOf(memo)) this.#udpPorts.hold(port, memo.project);
  }
}

/** Tells the settings that a program takes when it is started from others. */
export function settingsOf(node: {
  readonly properties: Properties;
  readonly customAdapters: readonly CustomAdapter[];
}): string {
  const text = JSON.stringify([node.properties, node.customAdapters]);
  return createHash('sha256').update(text).digest('base64');
}

/** Resolves when nothing of the programs is left. */
export async function endKept({ programs }: Pick<KeptNode, 'programs'>): Promise<void> {
  for (const program of programs) program.kill('SIGKILL');
  await Promise.all(programs.map(({ ended }) => ended));
}

function portsOf({ wires }: NodeMemo): number[] {
  return wires.flatMap(({ programPort, enginePort }) => [programPort, enginePort]);
}

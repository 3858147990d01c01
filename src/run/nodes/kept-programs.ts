/** The programs that a keeper has kept since an earlier server, until their nodes take them over. */
import { z } from 'zod';
import type { Program } from '../keeper/keeper.js';
import type { UdpPorts } from '../links/udp-ports.js';

/** The pair of UDP ports on 127.0.0.1 between an adapter of a program and the engine. */
export interface AdapterWire {
  readonly programPort: number;
  readonly enginePort: number;
}

/** The memo that the keeper hands back with the program of a node. */
const nodeMemo = z.object({
  project: z.string(),
  commandLine: z.string(),
  wires: z.array(z.object({ index: z.int(), programPort: z.int(), enginePort: z.int() })),
});

export type NodeMemo = z.infer<typeof nodeMemo>;

export interface KeptNode {
  /** The program of the node is the first, those that help it follow. */
  readonly programs: readonly [Program, ...Program[]];
  readonly commandLine: string;
  /** By the index of the port of the node. */
  readonly wires: ReadonlyMap<number, AdapterWire>;
}

export class KeptPrograms {
  readonly #udpPorts: UdpPorts;
  /** By the id of the node. */
  readonly #nodes = new Map<string, { readonly programs: Program[]; readonly memo: NodeMemo }>();

  constructor(udpPorts: UdpPorts) {
    this.#udpPorts = udpPorts;
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
    const { commandLine, wires } = kept.memo;
    const byIndex = new Map(wires.map(({ index, ...wire }) => [index, wire]));
    return { programs: [program, ...helpers], commandLine, wires: byIndex };
  }

  /** Ends those that no node of an open project has taken. */
  endRest(): void {
    for (const [nodeId, { memo }] of this.#nodes) {
      for (const program of this.take(nodeId)?.programs ?? []) program.kill('SIGKILL');
      for (const port of portsOf(memo)) this.#udpPorts.release(port, memo.project);
    }
  }

  #hold(program: Program, memo: NodeMemo): void {
    this.#nodes.set(program.id, { programs: [program], memo });
    for (const port of portsOf(memo)) this.#udpPorts.hold(port, memo.project);
  }
}

function portsOf({ wires }: NodeMemo): number[] {
  return wires.flatMap(({ programPort, enginePort }) => [programPort, enginePort]);
}

/**
 * A NAT node: its only port leads out of the host, by one of two ways (`nat-ways.ts`). The program of the second runs for
 * as long as a link is attached.
 *
 * A program that ends by itself is started again, unless it has lived for a moment only: then it stays down until the
 * link is made anew, so that guests who can make it fail do not keep the host busy.
 */
import { refusals } from '../../../base/errors/errors.js';
import { nat } from '../../../lab/kinds/nat.js';
import { nodeFolder } from '../../../files/node-files/node-folder.js';
import type { ComputeServices } from '../../compute-services.js';
import type { Program } from '../../keeper/keeper.js';
import type { NewComputeNode, NodeSettings } from '../compute-node.js';
import { endProgram } from '../keeper-programs.js';
import type { AdapterWire } from '../../links/udp-ports.js';
import type { NodeProject } from '../machine.js';
import { OutletNode } from '../outlet-node.js';
import { lastLines, lastWords } from '../printed-text.js';
import { InnerPorts } from '../inner-ports.js';
import { NAT_BRIDGE, NAT_NETWORK } from './nat-network.js';
import { GREETING, isReady } from './nat-ways.js';

/** A program that has lived for so long is started again. */
const LEAST_LIFE_MS = 10_000;
const PLAIN = { suspended: false, filters: undefined };

interface Run {
  readonly wire: AdapterWire;
  program: Program;
  startedAt: number;
}

export class NatNode extends OutletNode {
  readonly kind = nat;
  readonly folder: string;
  readonly #program: InnerPorts;
  /** Undefined while no link is attached, and on the bridge. */
  #run: Run | undefined;

  constructor(home: NodeProject, wanted: NewComputeNode, services: ComputeServices) {
    super(home, nat, wanted, services);
    this.folder = nodeFolder({ node_type: 'nat', node_id: this.id });
    const { sockets, udpPorts } = services;
    const place = { device: this.device, sockets, udpPorts, projectId: home.id };
    // Its way out is the network of the host.
    this.#program = new InnerPorts(place, () => Promise.resolve(undefined));
  }

  install(): Promise<void> {
    return this.turn(() => this.device.install({ kind: 'patch', settings: NAT_NETWORK }));
  }

  update({ name = this.name, properties }: NodeSettings): Promise<string> {
    return this.turn(() => {
      this.checkName(name);
      this.properties = nat.update(this.properties, properties, this.attachments.size > 0);
      this.name = name;
      this.services.channel.emit('node.updated', this.text, this.home.id);
      return Promise.resolve(this.text);
    });
  }

  override closeSockets(): void {
    super.closeSockets();
    this.#program.closeSockets();
    this.#run = undefined;
  }

  protected ownFields(): object {
    return {};
  }

  protected override async linkComes(port: number): Promise<void> {
    const usesBridge = await this.services.nat.usesBridge();
    await this.device.configure({ kind: 'patch', settings: usesBridge ? null : NAT_NETWORK });
    if (usesBridge) {
      const bridge = { type: 'bridge', bridge: NAT_BRIDGE, port: 0 } as const;
      await this.inner.attach(port - 1, bridge, this.home.folder, PLAIN);
      return;
    }
    const [wire] = await this.#program.openUdp([0]);
    if (wire === undefined) throw new Error('a NAT has one wire');
    try {
      const program = await this.#launch(wire);
      const run = { wire, program, startedAt: performance.now() };
      this.#run = run;
      this.#watch(run);
    } catch (error) {
      await this.#program.close();
      throw error;
    }
  }

  protected override async linkWent(port: number): Promise<void> {
    if (this.#run === undefined) await this.inner.detach(port - 1);
    else await this.end();
  }

  protected override async end(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return;
    await endProgram(run.program);
    await this.#program.close();
  }

  /** Refuses (409) a program that does not get ready, with what it printed. Nothing is left of it then. */
  async #launch(wire: AdapterWire): Promise<Program> {
    const { programs, nat: ways } = this.services;
    return programs.start(nat.type, this.home.id, async () => {
      if (this.leaving !== undefined) throw refusals.nodeUnknown(this.id);
      const program = await ways.start(this, wire).catch((error: unknown) => {
        throw refusals.nodeNotStarted(this.name, error instanceof Error ? error.message : String(error));
      });
      if (await isReady(program)) return program;
      await endProgram(program);
      throw refusals.nodeNotStarted(this.name, lastWords(await program.ended, complaintsOf(program)));
    });
  }

  #watch(run: Run): void {
    const { program } = run;
    void program.ended.then((end) => {
      if (this.#run !== run) return;
      const lived = performance.now() - run.startedAt;
      const next =
        lived < LEAST_LIFE_MS
          ? 'it stays down until its link is made anew, because it had just been started'
          : 'it is started again';
      this.#tell(`${this.name} ended (${next}): ${lastWords(end, complaintsOf(program))}`);
      if (lived >= LEAST_LIFE_MS) void this.#startAgain(run);
    });
  }

  async #startAgain(run: Run): Promise<void> {
    try {
      await this.turn(async () => {
        // The link may have gone meanwhile.
        if (this.#run !== run) return;
        run.program = await this.#launch(run.wire);
        run.startedAt = performance.now();
        this.#watch(run);
      });
    } catch (error) {
      if (this.#run === run) this.#tell(error instanceof Error ? error.message : String(error));
    }
  }

  #tell(message: string): void {
    this.services.report(this.home.id, 'error', message);
  }
}

/** The text that the program printed, without its greeting. */
function complaintsOf({ output }: Program): string {
  const lines = lastLines(output).split('\n');
  return lines
    .filter((line) => !line.includes(GREETING))
    .join('\n')
    .trimEnd();
}

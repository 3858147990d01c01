/** A link that is captured while its server ends and another comes. */
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { Client } from './client.js';
import { eventually } from './eventually.js';
import { LinkLab, end, type Json } from './link-lab.js';
import { ethernetFrame, ipPacket, numbersIn } from './numbered-packets.js';
import { pcapFile } from './pcap-records.js';
import { startServer, type ServerProcess } from './server-process.js';
import { missingTshark, tsharkRows } from './tshark.js';

const LINK_PORT = 0;
const SOCKET_PORT = 1;

export interface Gap {
  readonly from: string;
  readonly to: string;
}

type Pipe = Awaited<ReturnType<LinkLab['peer']>>;

/** The numbers of the packets in a file, as tshark reads them; all of it must be valid. */
export function numbersOf(path: string): number[] {
  const file = readFileSync(path);
  if (missingTshark() !== false) return pcapFile(file).packets.map((packet) => numbersIn(packet).number);
  return tsharkRows(file, ['udp.payload']).map(([payload = '']) => Number.parseInt(payload.slice(8), 16));
}

/** Two hubs with a link between them, on a server that ends and comes back. */
export class CapturedLine {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly lab: LinkLab;
  readonly link: Json;
  readonly #t: Test;
  readonly #ends: readonly [Json, Json];
  #pipes: readonly [Pipe, Pipe] | undefined;
  #passed = 0;

  static async make(t: Test, server: ServerProcess): Promise<CapturedLine> {
    const host = { client: new Client(server.url), url: server.url };
    const lab = await LinkLab.make(host);
    const ends = [await lab.hub(), await lab.hub()] as const;
    const link = await lab.link([end(ends[0], LINK_PORT), end(ends[1], LINK_PORT)]);
    return new CapturedLine(t, server, lab, link, ends);
  }

  private constructor(t: Test, server: ServerProcess, lab: LinkLab, link: Json, ends: readonly [Json, Json]) {
    this.#t = t;
    this.server = server;
    this.client = new Client(server.url);
    this.lab = lab;
    this.link = link;
    this.#ends = ends;
  }

  /** The same line on the server that came after its own. */
  on(server: ServerProcess): CapturedLine {
    const lab = new LinkLab({ client: new Client(server.url), url: server.url }, this.lab.id);
    return new CapturedLine(this.#t, server, lab, this.link, this.#ends);
  }

  get at(): string {
    return this.lab.at(this.link);
  }

  /** Starts a capture; resolves with the path of its file. */
  async capture(settings: Json = {}): Promise<string> {
    const started = await this.client.expect(201, 'POST', `${this.at}/start_capture`, settings);
    return String(started['capture_file_path']);
  }

  status(): Promise<Json> {
    return this.client.expect(200, 'GET', `${this.at}/capture`);
  }

  async gaps(): Promise<Gap[]> {
    return (await this.status())['gaps'] as Gap[];
  }

  /** The link, as clients see it. */
  show(): Promise<Json> {
    return this.client.expect(200, 'GET', this.at);
  }

  isOpen(): Promise<unknown> {
    return eventually('the project is open', () => this.show().catch(() => undefined));
  }

  isCapturing(): Promise<unknown> {
    return eventually('the link is captured again', async () => {
      const link = await this.show().catch(() => undefined);
      return link?.['capturing'] === true || undefined;
    });
  }

  /** Passes packets of these numbers over the link. */
  async pass(...numbers: readonly number[]): Promise<void> {
    const [near, far] = this.#ends;
    this.#pipes ??= [
      await this.lab.peer(this.#t, near, SOCKET_PORT),
      await this.lab.peer(this.#t, far, SOCKET_PORT),
    ];
    const [source, sink] = this.#pipes;
    const frames = numbers.map((number) => ethernetFrame(ipPacket(0, number)));
    await source.peer.send(source.near, frames);
    await sink.peer.receive((this.#passed += frames.length));
  }

  /** Resolves when so many packets are in the file. */
  async hasWritten(packets: number): Promise<void> {
    await eventually('all is written', async () => {
      const { packets: counted, unwritten_bytes: waiting } = await this.status();
      return counted === packets && waiting === 0 ? true : undefined;
    });
  }

  stop(): Promise<Json> {
    return this.client.expect(201, 'POST', `${this.at}/stop_capture`);
  }
}

/** The server that comes after this one. */
export async function after(t: Test, server: ServerProcess, signal: NodeJS.Signals): Promise<ServerProcess> {
  await server.stop(signal);
  return startServer(t, { data: server.data });
}

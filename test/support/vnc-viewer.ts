/** A viewer of a VNC server, and a client that draws on an X server: as much of both protocols as a test needs. */
import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Test } from 'tap';

const NO_PASSWORD = 1;
const SERVER_INIT = 24;
const UPDATE_HEADER = 4;
const RECTANGLE_HEADER = 12;
const RAW = 0;

/** A connection of which so many bytes are read at a time. */
class ByteStream {
  readonly socket: Socket;
  #received = Buffer.alloc(0);

  constructor(t: Test, place: NetConnectOpts) {
    this.socket = connect(place);
    t.teardown(() => this.socket.destroy());
    this.socket.on('error', () => undefined);
  }

  async read(length: number): Promise<Buffer> {
    while (this.#received.length < length) {
      const [more] = (await Promise.race([
        once(this.socket, 'data'),
        once(this.socket, 'close').then(() => [undefined]),
      ])) as [Buffer | undefined];
      if (more === undefined) throw new Error(`closed after ${this.#received.length} of ${length} bytes`);
      this.#received = Buffer.concat([this.#received, more]);
    }
    const wanted = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return wanted;
  }
}

export class VncViewer {
  readonly #stream: ByteStream;
  readonly width: number;
  readonly height: number;

  static async open(t: Test, port: number): Promise<VncViewer> {
    const stream = new ByteStream(t, { host: '127.0.0.1', port });
    const version = await stream.read(12);
    t.equal(version.toString(), 'RFB 003.008\n');
    stream.socket.write(version);
    const [count = 0] = await stream.read(1);
    t.ok((await stream.read(count)).includes(NO_PASSWORD));
    stream.socket.write(Buffer.of(NO_PASSWORD));
    t.equal((await stream.read(4)).readUInt32BE(), 0, 'the viewer may come in');
    const isShared = 1;
    stream.socket.write(Buffer.of(isShared));
    const init = await stream.read(SERVER_INIT);
    await stream.read(init.readUInt32BE(SERVER_INIT - 4));
    return new VncViewer(stream, init.readUInt16BE(0), init.readUInt16BE(2));
  }

  private constructor(stream: ByteStream, width: number, height: number) {
    this.#stream = stream;
    this.width = width;
    this.height = height;
  }

  /** The colour of the first pixel, as 0xRRGGBB. */
  async colour(): Promise<number> {
    const request = Buffer.alloc(10);
    request.writeUInt8(3);
    request.writeUInt16BE(1, 6);
    request.writeUInt16BE(1, 8);
    this.#stream.socket.write(request);
    const update = await this.#stream.read(UPDATE_HEADER + RECTANGLE_HEADER);
    if (update.readUInt16BE(2) !== 1 || update.readInt32BE(UPDATE_HEADER + 8) !== RAW)
      throw new Error('the server sent no plain pixel');
    const pixel = await this.#stream.read(4);
    return pixel.readUInt32LE() & 0xff_ffff;
  }
}

/** Gives the whole screen of an X server this colour. `path` is that of its socket. */
export async function paintScreen(t: Test, path: string, colour: number): Promise<void> {
  const stream = new ByteStream(t, { path });
  stream.socket.write(Buffer.from([0x6c, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
  const head = await stream.read(8);
  t.equal(head[0], 1, 'the X server takes the client');
  const setup = await stream.read(head.readUInt16LE(6) * 4);
  const vendor = Math.ceil(setup.readUInt16LE(16) / 4) * 4;
  const root = setup.readUInt32LE(32 + vendor + (setup[21] ?? 0) * 8);
  const requests = Buffer.alloc(32);
  // The background of the root window, which is cleared then. A question comes last: its answer follows the drawing.
  requests.writeUInt8(2, 0);
  requests.writeUInt16LE(4, 2);
  requests.writeUInt32LE(root, 4);
  requests.writeUInt32LE(2, 8);
  requests.writeUInt32LE(colour, 12);
  requests.writeUInt8(61, 16);
  requests.writeUInt16LE(4, 18);
  requests.writeUInt32LE(root, 20);
  const question = Buffer.from([43, 0, 1, 0]);
  stream.socket.write(Buffer.concat([requests, question]));
  t.equal((await stream.read(32))[0], 1);
  stream.socket.destroy();
}

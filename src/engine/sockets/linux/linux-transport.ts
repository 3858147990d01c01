/**
 * The transport of Linux: one epoll over descriptors that the HTTP thread has opened, batched in both directions.
 *
 * Runs of equal frames, which make sends cheap, only form where frames wait. So a busy socket is left alone for a
 * moment to gather a run: it is disarmed and read when it is due, while all others are served. A socket that brought a
 * single frame is always served at once.
 */
import type {
  BellDescriptors,
  PortEndpoint,
  Link,
  OpenEndpoint,
  Transport,
} from '../../forwarding/transport.js';
import { countSent, type Batch, type Port } from '../../forwarding/port.js';
import type { FrameMemory } from '../../forwarding/frame-memory.js';
import { GuestLink } from './vhost/guest-link.js';
import { GuestLinks } from './vhost/guest-links.js';
import { libc } from './libc.js';
import { addressOf, NativeMemory } from './native-memory.js';
import { Poller } from './poller.js';
import { Receiver, type Inlet } from './receiver.js';
import { Sender, type Outlet } from './sender.js';
import { unixAddress } from './socket-address.js';

/** How long a busy socket is left alone. */
const GATHERING_MS = 0.1;
/** A socket is busy when its frames come closer together than this: gathering then makes runs of five or more. */
const BUSY_GAP_MS = 0.02;
/** A socket is quiet when its frames are farther apart than this. */
const QUIET_GAP_MS = 0.04;
/** The weight of the latest gap in the moving average. */
const GAP_WEIGHT = 0.2;
/** Bounds a wait, so that the thread notices when it has to end. */
const LONGEST_WAIT_MS = 500;
/** Bounds a drain: in a loop of links all frames that are handed over come back. */
const LONGEST_DRAIN_MS = 50;
/** A TAP that is ready without having frames this often is broken for now: its interface is gone. */
const MOST_FALSE_ALARMS = 8;
/** A link may bring this many frames while others wait. */
const TURN_FRAMES = 256;

interface LinuxLink extends Link, Inlet, Outlet {
  readonly endpoint: OpenEndpoint;
  /** When to read it; undefined while epoll watches it. */
  dueAt: number | undefined;
  servedAt: number;
  /** The moving average of the time between frames, in milliseconds. */
  gap: number;
  isRemoved: boolean;
  falseAlarms: number;
}

export class LinuxTransport implements Transport {
  readonly #poller: Poller;
  readonly #receiver: Receiver;
  readonly #sender: Sender;
  readonly #links: (LinuxLink | undefined)[] = [];
  readonly #guests: GuestLinks;
  readonly #bell: number;
  readonly #onBell: () => boolean;
  readonly #scratch = new NativeMemory(8);
  /** The gathering links, in the order in which they are due: all wait equally long. */
  readonly #due: LinuxLink[] = [];
  /** The broken TAPs, in the order in which they are tried again. */
  readonly #broken: LinuxLink[] = [];

  /** `onBell` is called when the bell has rung; it returns whether everything that it rang for is done. */
  constructor(memory: FrameMemory, listener: BellDescriptors, onBell: () => boolean) {
    this.#poller = new Poller(listener.epoll);
    this.#receiver = new Receiver(memory);
    this.#sender = new Sender(addressOf(memory.bytes));
    this.#guests = new GuestLinks(this.#poller, memory);
    this.#bell = listener.event;
    this.#onBell = onBell;
    this.#poller.add(listener.event);
  }

  add(endpoint: PortEndpoint, port: Port, fromLink: (frames: Batch) => void): Link {
    if (endpoint.type === 'null') return { endpoint, send: countSent };
    if (endpoint.type === 'udp-address') throw new Error('this transport takes open descriptors');
    if (endpoint.type === 'vhost-user') return this.#guests.add(endpoint, port, fromLink);
    const sender = this.#sender;
    const link: LinuxLink = {
      endpoint,
      descriptor: endpoint.descriptor,
      port,
      fromLink,
      framesPerMessage: 1,
      largestSegment: endpoint.type === 'udp' ? Infinity : 0,
      dueAt: undefined,
      servedAt: 0,
      gap: Infinity,
      isRemoved: false,
      falseAlarms: 0,
      send: (to, frames) => {
        sender.send(link, to, frames);
      },
    };
    const peer = endpoint.peer === undefined ? undefined : unixAddress(endpoint.peer);
    if (endpoint.type === 'tap') {
      link.send = (to, frames) => {
        sender.write(link, to, frames);
      };
    } else if (peer !== undefined) {
      link.send = (to, frames) => {
        sender.sendTo(link, peer, to, frames);
      };
    }
    this.#links[endpoint.descriptor] = link;
    this.#poller.add(endpoint.descriptor);
    return link;
  }

  remove(link: Link): void {
    if (link instanceof GuestLink) this.#guests.remove(link);
    if (!isOpen(link)) return;
    link.isRemoved = true;
    this.#links[link.descriptor] = undefined;
    this.#poller.remove(link.descriptor);
  }

  drain(link: Link): void {
    if (!isOpen(link)) return;
    const until = performance.now() + LONGEST_DRAIN_MS;
    while (this.#receive(link) !== 0 && performance.now() < until);
  }

  turn(patienceMs = Infinity): void {
    // Links that are planned from here on are for the next turn.
    const planned = this.#due.length;
    const ready = this.#poller.wait(Math.min(patienceMs, this.#patience()));
    for (let index = 0; index < ready; index++) {
      const descriptor = this.#poller.descriptorAt(index);
      const link = this.#links[descriptor];
      if (descriptor === this.#bell) this.#answerBell();
      else if (link !== undefined) this.#serve(link);
      // A previous engine had it, or an order in this very turn has removed it.
      else if (!this.#guests.serve(descriptor)) this.#poller.remove(descriptor);
    }
    if (this.#guests.areBusy) this.#guests.serveBusy();
    if (planned > 0) this.#serveDue(planned);
    if (this.#broken.length > 0) this.#tryBroken();
  }

  close(): void {
    // Descriptors belong to the HTTP thread.
    this.#guests.close();
  }

  /** Clears the bell before the orders are taken, so that later orders ring again. Rings itself for remaining orders. */
  #answerBell(): void {
    libc.read(this.#bell, this.#scratch.address, 8);
    if (this.#onBell()) return;
    this.#scratch.setLong(0, 1);
    libc.write(this.#bell, this.#scratch.address, 8);
  }

  #patience(): number {
    if (this.#guests.areBusy) return 0;
    const first = this.#due[0];
    if (first?.dueAt === undefined) return LONGEST_WAIT_MS;
    return Math.max(0, first.dueAt - performance.now());
  }

  #serve(link: LinuxLink): void {
    // epoll reports errors of disarmed descriptors, too.
    if (link.dueAt !== undefined) return;
    const frames = this.#receiveTurn(link);
    if (frames === 0) {
      // A socket reports an error once, but a TAP whose interface is gone reports it forever.
      if (link.endpoint.type === 'tap') this.#noteFalseAlarm(link);
      return;
    }
    link.falseAlarms = 0;
    const now = performance.now();
    if (!gathers(link, frames, now) || !this.#poller.isPrecise) return;
    this.#poller.disarm(link.descriptor);
    this.#plan(link, frames, now);
  }

  #serveDue(planned: number): void {
    const before = performance.now();
    let served = 0;
    for (; served < planned; served++) {
      const link = this.#due[served];
      if (link?.dueAt === undefined || link.dueAt > before) break;
      if (link.isRemoved) continue;
      const frames = this.#receiveTurn(link);
      const now = performance.now();
      if (gathers(link, frames, now)) this.#plan(link, frames, now);
      else {
        link.dueAt = undefined;
        this.#poller.arm(link.descriptor);
      }
    }
    this.#due.splice(0, served);
  }

  /** Plans the next read of a busy link. A link that brought a full turn has more frames, and is due at once. */
  #plan(link: LinuxLink, frames: number, now: number): void {
    link.dueAt = frames < TURN_FRAMES ? now + GATHERING_MS : now;
    this.#due.push(link);
  }

  #noteFalseAlarm(link: LinuxLink): void {
    if (++link.falseAlarms < MOST_FALSE_ALARMS) return;
    this.#poller.disarm(link.descriptor);
    link.dueAt = performance.now() + LONGEST_WAIT_MS;
    this.#broken.push(link);
  }

  /** Re-arms broken TAPs whose time has come: perhaps they work again. */
  #tryBroken(): void {
    const now = performance.now();
    for (let link = this.#broken[0]; link?.dueAt !== undefined && link.dueAt <= now; link = this.#broken[0]) {
      this.#broken.shift();
      link.falseAlarms = 0;
      link.dueAt = undefined;
      if (!link.isRemoved) this.#poller.arm(link.descriptor);
    }
  }

  /** Receives all waiting frames, or a turn's worth; returns the number of frames. */
  #receiveTurn(link: LinuxLink): number {
    // Looking for a second frame costs as much as fetching one, and quiet links hardly ever have any.
    if (link.gap > QUIET_GAP_MS && link.endpoint.type !== 'tap')
      return Math.abs(this.#receiver.receive(link, 1));
    let total = 0;
    for (;;) {
      const frames = this.#receive(link);
      total += Math.abs(frames);
      if (frames >= 0 || total >= TURN_FRAMES) return total;
    }
  }

  #receive(link: LinuxLink): number {
    if (link.endpoint.type !== 'tap') return this.#receiver.receive(link);
    let frames = 0;
    while (frames < TURN_FRAMES && this.#receiver.read(link)) frames++;
    return frames === TURN_FRAMES ? -frames : frames;
  }
}

/** Updates the gap of a link that has just brought frames; returns whether it is busy enough to gather a run. */
function gathers(link: LinuxLink, frames: number, now: number): boolean {
  const latest = (now - link.servedAt) / Math.max(1, frames);
  link.gap = link.gap === Infinity ? latest : link.gap + (latest - link.gap) * GAP_WEIGHT;
  link.servedAt = now;
  return frames > 1 && link.gap < BUSY_GAP_MS;
}

function isOpen(link: Link): link is LinuxLink {
  return link.endpoint.type !== 'null' && link.endpoint.type !== 'vhost-user';
}

/**
 * Carries frames between devices of one engine without a socket, within the turn in which they arrived. Each round
 * passes one link. A frame that would pass more links than any sane lab has is in a loop: it is dropped and counted,
 * so that a loop neither grows nor stalls the engine.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { AttachedPort } from './attached-port.js';
import { Cutter } from './cutter.js';
import type { FrameMemory } from './frame-memory.js';
import type { Offloads } from './offloads.js';
import { Batch, BATCH_FRAMES, bytesOf, type Exit, type Outbox, type Port } from './port.js';

const MOST_ROUNDS = 64;
/** The most frames that one delivery carries, however floods multiply them: a full batch flooded to 256 fused ports. */
const MOST_FRAMES = 256 * BATCH_FRAMES;

export class FusedPaths {
  readonly #outbox: Outbox;
  readonly #offloads: Offloads;
  readonly #cutter: Cutter;
  readonly #spare: Batch[] = [];
  #waiting: AttachedPort[] = [];
  #next: AttachedPort[] = [];
  readonly #deliver = (port: Port, frames: Batch): void => {
    if (this.#offloads.isEmpty || port.exit.takesOffloads === true) port.exit.send(port, frames);
    else {
      this.#cutter.pass(port, frames, (cut) => {
        port.exit.send(port, cut);
      });
    }
  };

  constructor(outbox: Outbox, memory: FrameMemory) {
    this.#outbox = outbox;
    this.#offloads = memory.offloads;
    this.#cutter = new Cutter(memory);
  }

  /** The exit of a port that is fused with `peer`. */
  exitTo(peer: AttachedPort): Exit {
    return {
      takesOffloads: true,
      send: (from, frames) => {
        let inbox = peer.inbox;
        if (inbox === undefined) {
          inbox = this.#spare.pop() ?? new Batch();
          peer.inbox = inbox;
          this.#next.push(peer);
        }
        append(inbox, from, frames);
      },
    };
  }

  /** Hands over frames that have come in at a port. */
  bring(port: AttachedPort, frames: Batch): void {
    if (this.#offloads.isEmpty || port.takesOffloads) {
      port.fromLink(frames);
      return;
    }
    this.#cutter.pass(port, frames, (cut) => {
      port.fromLink(cut);
      // The outbox has room for one batch at a time.
      this.#outbox.empty(this.#deliver);
    });
  }

  /** Sends the frames that devices have put into the outbox, and all frames that devices send in response. */
  deliverPending(): void {
    this.#outbox.empty(this.#deliver);
    let budget = MOST_FRAMES;
    for (let round = 1; this.#next.length > 0; round++) {
      const arrived = this.#next;
      this.#next = this.#waiting;
      this.#waiting = arrived;
      for (const port of arrived) {
        const frames = port.inbox;
        if (frames === undefined) continue;
        port.inbox = undefined;
        budget -= frames.count;
        this.#fromLink(port, frames, round > MOST_ROUNDS || budget < 0);
        frames.count = 0;
        this.#spare.push(frames);
      }
      arrived.length = 0;
    }
  }

  #fromLink(port: AttachedPort, frames: Batch, isLoop: boolean): void {
    port.count(COUNTER.frames_in, frames.count);
    port.count(COUNTER.octets_in, bytesOf(frames));
    if (isLoop) {
      port.count(COUNTER.hop_limit, frames.count);
      return;
    }
    this.bring(port, frames);
    this.#outbox.empty(this.#deliver);
  }
}

function append(inbox: Batch, from: Port, { offsets, lengths, count }: Batch): void {
  const room = Math.min(count, BATCH_FRAMES - inbox.count);
  let bytes = 0;
  for (let index = 0; index < room; index++) {
    const length = lengths[index] ?? 0;
    inbox.add(offsets[index] ?? 0, length);
    bytes += length;
  }
  from.count(COUNTER.frames_out, room);
  from.count(COUNTER.octets_out, bytes);
  if (room < count) from.count(COUNTER.queue_full, count - room);
}

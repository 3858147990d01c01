/** A port of the Linux transport that shares memory with guests made by hand. */
import { join } from 'node:path';
import type { Test } from 'tap';
import { GuestPeer, type PeerShape } from './guest-peer.js';
import { linuxSockets } from './linux-sockets.js';
import { RandomBytes } from './random.js';
import { scratchFolder } from './scratch.js';
import { TransportRig, type Attached } from './transport-rig.js';

export const MEBI = 1024 * 1024;

export interface GuestRig {
  readonly rig: TransportRig;
  readonly link: Attached;
  readonly connect: (shape?: PeerShape) => GuestPeer;
  /** A guest whose queues run. */
  readonly start: (shape?: PeerShape) => Promise<GuestPeer>;
}

export async function guestRig(t: Test): Promise<GuestRig> {
  const rig = new TransportRig(t, linuxSockets);
  const path = join(scratchFolder(t), 'guest');
  const link = await rig.attach(rig.open(t, { type: 'vhost-user', path, mostMemory: 16 * MEBI }));
  const connect = (shape?: PeerShape): GuestPeer => {
    const peer = new GuestPeer(path, shape);
    t.teardown(() => {
      peer.close();
    });
    return peer;
  };
  const start = async (shape?: PeerShape): Promise<GuestPeer> => {
    const peer = connect(shape);
    peer.begin();
    await answers(rig, peer, 3);
    return peer;
  };
  return { rig, link, connect, start };
}

/** Waits for so many answers, or until the other side hangs up. */
export async function answers(rig: TransportRig, peer: GuestPeer, count: number): Promise<(bigint | null)[]> {
  const got: (bigint | null)[] = [];
  await rig.turnUntil('the engine answers', () => {
    const reply = peer.reply();
    if (reply !== undefined) got.push(reply);
    return got.length === count || reply === null;
  });
  return got;
}

export const frames = (count: number, length = 64): Buffer[] => {
  const bytes = new RandomBytes(length);
  return Array.from({ length: count }, () => bytes.next(length));
};

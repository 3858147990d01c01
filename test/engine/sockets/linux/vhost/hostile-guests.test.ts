/** Guests that share their memory with a port, and break the rules in every way. */
import { closeSync, openSync, readdirSync } from 'node:fs';
import t from 'tap';
import { libc } from '../../../../../src/engine/sockets/linux/libc.js';
import { FAULT, reasonOf } from '../../../../../src/engine/sockets/linux/vhost/guest-fault.js';
import { REQUEST } from '../../../../../src/engine/sockets/linux/vhost/vhost-message.js';
import {
  DESCRIPTOR,
  GUEST_AT,
  long,
  newMemfd,
  pair,
  type GuestPeer,
} from '../../../../support/guest-peer.js';
import { frames, guestRig, MEBI } from '../../../../support/guest-rig.js';

/** Each does to a guest whose queues run, or to one that has just connected, what ends it. */
const HOSTILE: Readonly<
  Record<string, { fault: keyof typeof FAULT; late?: true; readonly attack: (peer: GuestPeer) => void }>
> = {
  'nonsense instead of a message': {
    fault: 'message',
    attack: (peer) => {
      peer.sendRaw(Buffer.alloc(64, 0xff));
    },
  },
  'an unknown request': {
    fault: 'message',
    attack: (peer) => {
      peer.send(77);
    },
  },
  'a message that is too long': {
    fault: 'message',
    attack: (peer) => {
      peer.send(REQUEST.setMemory, Buffer.alloc(600));
    },
  },
  'a message that is too short': {
    fault: 'message',
    attack: (peer) => {
      peer.send(REQUEST.setFeatures);
    },
  },
  'a table of memory that is longer than its message': {
    fault: 'message',
    attack: (peer) => {
      peer.send(REQUEST.setMemory, pair(9, 0), [peer.file]);
    },
  },
  'more descriptors than a message may have': {
    fault: 'descriptors',
    attack: (peer) => {
      peer.send(REQUEST.setOwner, Buffer.alloc(0), Array<number>(12).fill(peer.file));
    },
  },
  'a table of memory without descriptors': {
    fault: 'descriptors',
    attack: (peer) => {
      peer.send(REQUEST.setMemory, Buffer.concat([pair(1, 0), Buffer.alloc(32)]));
    },
  },
  'a kick without a descriptor': {
    fault: 'descriptors',
    attack: (peer) => {
      peer.send(REQUEST.setKick, long(0n));
    },
  },
  'a feature that was not offered': {
    fault: 'feature',
    attack: (peer) => {
      peer.send(REQUEST.setFeatures, long(1n << 22n));
    },
  },
  'memory that may shrink': {
    fault: 'seal',
    attack: (peer) => {
      const file = newMemfd(peer.size, 'never');
      peer.shareMemory(file);
      libc.close(file);
    },
  },
  'a file of the disk': {
    fault: 'seal',
    attack: (peer) => {
      const file = openSync('/proc/self/exe', 'r');
      peer.shareMemory(file, 4096);
      closeSync(file);
    },
  },
  'a pipe for memory': {
    fault: 'seal',
    attack: (peer) => {
      peer.shareMemory(peer.kicks[0], 4096);
    },
  },
  'memory behind the end of its file': {
    fault: 'bounds',
    attack: (peer) => {
      peer.shareMemory(peer.file, peer.size + 4096);
    },
  },
  'memory at an offset behind the end of its file': {
    fault: 'bounds',
    attack: (peer) => {
      peer.shareMemory(peer.file, 4096, peer.size);
    },
  },
  'more memory than the node has': {
    fault: 'bounds',
    attack: (peer) => {
      const file = newMemfd(32 * MEBI);
      peer.shareMemory(file, 32 * MEBI);
      libc.close(file);
    },
  },
  'a region without length': {
    fault: 'bounds',
    attack: (peer) => {
      peer.shareMemory(peer.file, 0);
    },
  },
  'a kick that is no eventfd': {
    fault: 'event',
    attack: (peer) => {
      peer.send(REQUEST.setKick, long(0n), [peer.file]);
    },
  },
  'a call that is no eventfd': {
    fault: 'event',
    attack: (peer) => {
      peer.send(REQUEST.setCall, long(0n), [peer.file]);
    },
  },
  'a queue that does not exist': {
    fault: 'queue',
    attack: (peer) => {
      peer.send(REQUEST.enableQueue, pair(7, 1));
    },
  },
  'a queue of no power of two': {
    fault: 'queueSize',
    attack: (peer) => {
      peer.send(REQUEST.setQueueSize, pair(0, 100));
    },
  },
  'a queue that is too large': {
    fault: 'queueSize',
    attack: (peer) => {
      peer.send(REQUEST.setQueueSize, pair(0, 65_536));
    },
  },
  'a queue outside of its memory': {
    fault: 'queuePlace',
    late: true,
    attack: (peer) => {
      peer.placeQueue(1, 0x7f00_0000_0000 + peer.size - 0x1_0000);
    },
  },
  'a queue at an odd place': {
    fault: 'queuePlace',
    late: true,
    attack: (peer) => {
      peer.placeQueue(1, 0x7f00_0000_0001);
    },
  },
  'memory that does not have the queues any more': {
    fault: 'queuePlace',
    late: true,
    attack: (peer) => {
      peer.shareMemory(peer.file, 4096);
    },
  },
  'an index that jumps': {
    fault: 'index',
    late: true,
    attack: (peer) => {
      peer.setAvailable(1, peer.queueSize + 1);
      peer.kick(1);
    },
  },
  'a chain that is a loop': {
    fault: 'chain',
    late: true,
    attack: (peer) => {
      peer.describe(1, 0, GUEST_AT, 16, DESCRIPTOR.next, 1);
      peer.describe(1, 1, GUEST_AT, 16, DESCRIPTOR.next, 0);
      peer.offer(1, 0);
      peer.kick(1);
    },
  },
  'a chain outside of the table': {
    fault: 'chain',
    late: true,
    attack: (peer) => {
      peer.offer(1, peer.queueSize);
      peer.kick(1);
    },
  },
  'a buffer outside of the memory': sending('buffer', GUEST_AT + 4 * MEBI - 8, 64),
  'a buffer whose end is beyond all numbers': sending('buffer', 2 ** 64 - 2 ** 12, 0xffff_ffff),
  'a buffer that reaches out of the memory': sending('buffer', GUEST_AT, 0xffff_ffff),
  'a frame without room for its header': sending('direction', GUEST_AT, 8),
  'a buffer of the wrong direction': sending('direction', GUEST_AT, 64, DESCRIPTOR.written),
  'a table of tables': sending('direction', GUEST_AT, 64, DESCRIPTOR.table),
};

function sending(
  fault: keyof typeof FAULT,
  address: number,
  length: number,
  flags = 0,
): (typeof HOSTILE)[string] {
  return {
    ...{ fault, late: true },
    attack: (peer) => {
      peer.describe(1, 0, address, length, flags);
      peer.offer(1, 0);
      peer.kick(1);
    },
  };
}

for (const [title, { fault, late = false, attack }] of Object.entries(HOSTILE)) {
  void t.test(`a guest is cut off for ${title}, and nobody else notices`, async (t) => {
    const { rig, link, connect, start } = await guestRig(t);
    const reason = rig.sockets.opener.guestFault(link.endpoint);
    const [witness, sender] = await rig.cable(t);
    const before = readdirSync('/proc/self/fd').length;
    const peer = late ? await start() : connect();
    attack(peer);
    await rig.turnUntil('it is cut off', () => peer.reply() === null);
    t.equal(await reason, reasonOf(FAULT[fault]));
    peer.close();
    t.equal(readdirSync('/proc/self/fd').length, before, 'and nothing is left open');
    rig.send(sender, frames(1));
    await rig.turnUntil('others are served', () => witness.arrived.length === 1);
    const next = await start();
    next.post(frames(1));
    next.kick(1);
    await rig.turnUntil('an honest one is, too', () => link.arrived.length === 1);
  });
}

const RECEIVING: Readonly<
  Record<string, { fault: keyof typeof FAULT; readonly attack: (peer: GuestPeer) => void }>
> = {
  'an index that jumps': {
    fault: 'index',
    attack: (peer) => {
      peer.setAvailable(0, 1000);
    },
  },
  'a buffer that is not to be written': receiving('direction', GUEST_AT, 2048, 0),
  'a buffer without room for a header': receiving('direction', GUEST_AT, 8, DESCRIPTOR.written),
  'a buffer outside of the memory': receiving('buffer', GUEST_AT + 4 * MEBI - 8, 2048, DESCRIPTOR.written),
  'a loop of full buffers': receiving('chain', GUEST_AT, 12, DESCRIPTOR.written | DESCRIPTOR.next),
};

function receiving(
  fault: keyof typeof FAULT,
  address: number,
  length: number,
  flags: number,
): (typeof RECEIVING)[string] {
  return {
    fault,
    attack: (peer) => {
      peer.describe(0, 0, address, length, flags, 1);
      // Nothing fits into any of them.
      peer.describe(0, 1, GUEST_AT, 0, flags, 1);
      peer.offer(0, 0);
    },
  };
}

for (const [title, { fault, attack }] of Object.entries(RECEIVING)) {
  void t.test(`a guest that is to receive is cut off for ${title}`, async (t) => {
    const { rig, link, start } = await guestRig(t);
    const reason = rig.sockets.opener.guestFault(link.endpoint);
    const peer = await start();
    attack(peer);
    rig.send(link, frames(3));
    t.equal(await reason, reasonOf(FAULT[fault]));
    t.equal(peer.reply(), null);
    t.equal(rig.books.counter(link.row, 'send_failed'), 3);
  });
}

void t.test('a guest whose call is full and waits for room does not stop the engine', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  peer.fillCall(0);
  peer.offerBuffers(8);
  for (let count = 1; count <= 3; count++) rig.send(link, frames(1));
  t.equal(peer.receive().length, 3);
});

void t.test('memory that nobody has sealed yet is sealed before it is used', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start({ seal: 'none' });
  t.notOk(peer.shrink(), 'it cannot shrink any more');
  peer.post(frames(1));
  peer.kick(1);
  await rig.turnUntil('it arrives', () => link.arrived.length === 1);
});

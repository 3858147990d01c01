/** Guests that share their memory with a port: honest ones. */
import { readdirSync } from 'node:fs';
import t from 'tap';
import { REQUEST } from '../../../../../src/engine/sockets/linux/vhost/vhost-message.js';
import {
  DESCRIPTOR,
  EVENT_INDEXES,
  GUEST_AT,
  MERGED_BUFFERS,
  pair,
  PROTOCOL_FEATURES,
  VERSION_1,
} from '../../../../support/guest-peer.js';
import { answers, frames, guestRig } from '../../../../support/guest-rig.js';

void t.test('frames go both ways, and are counted', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  const sent = [...frames(20), ...frames(3, 1514), ...frames(5, 61)];
  peer.post(sent);
  peer.kick(1);
  await rig.turnUntil('all arrive', () => link.arrived.length === sent.length);
  t.same(link.arrived, sent);
  t.equal(peer.taken, sent.length);
  peer.offerBuffers(40);
  rig.send(link, sent);
  t.same(peer.receive(), sent);
  t.equal(peer.called(0), 1);
  const octets = Buffer.concat(sent).length;
  t.same(rig.books.counters(link.row), {
    ...{ frames_in: sent.length, octets_in: octets },
    ...{ frames_out: sent.length, octets_out: octets },
  });
});

void t.test('a guest that has offered no buffers loses frames, and they are counted', async (t) => {
  const { rig, link, start } = await guestRig(t);
  rig.send(link, frames(2));
  const peer = await start();
  peer.offerBuffers(3);
  rig.send(link, frames(10));
  t.equal(peer.receive().length, 3);
  const { frames_out, send_buffer_full, send_failed } = rig.books.counters(link.row);
  t.same(
    { frames_out, send_buffer_full, send_failed },
    { frames_out: 3, send_buffer_full: 7, send_failed: 2 },
  );
});

void t.test(
  'a frame is put together from the buffers of a chain, and spread over several buffers',
  async (t) => {
    const { rig, link, start } = await guestRig(t);
    const peer = await start({ features: VERSION_1 | PROTOCOL_FEATURES | MERGED_BUFFERS });
    const [frame = Buffer.alloc(0)] = frames(1, 5000);
    peer.bytes.set(frame, 0x20_0000 + 12);
    // The header alone, a part that ends at an odd place, the rest.
    const at = GUEST_AT + 0x20_0000;
    peer.describe(1, 5, at, 12, DESCRIPTOR.next, 3);
    peer.describe(1, 3, at + 12, 1777, DESCRIPTOR.next, 9);
    peer.describe(1, 9, at + 12 + 1777, 5000 - 1777, 0);
    peer.offer(1, 5);
    peer.kick(1);
    await rig.turnUntil('it arrives', () => link.arrived.length === 1);
    t.same(link.arrived, [frame]);

    peer.offerBuffers(4);
    rig.send(link, [frame, frame]);
    t.same(peer.receive(), [frame]);
    t.equal(rig.books.counter(link.row, 'send_buffer_full'), 1);
    peer.offerBuffers(2);
    rig.send(link, [frame]);
    t.same(peer.receive(), [frame]);
  },
);

void t.test('a frame that is longer than a guest takes at once is counted', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  peer.offerBuffers(3);
  const [frame = Buffer.alloc(0)] = frames(1, 5000);
  const small = frames(1);
  rig.send(link, [frame, ...small]);
  t.same(peer.receive(), small);
  t.equal(rig.books.counter(link.row, 'too_big_for_route'), 1);
});

void t.test('empty frames and frames that are too long are counted and not handed over', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  peer.describe(1, 0, GUEST_AT, 12, 0);
  peer.describe(1, 1, GUEST_AT, 100_000, 0);
  peer.offer(1, 0);
  peer.offer(1, 1);
  peer.kick(1);
  await rig.turnUntil('both are taken', () => peer.taken === 2);
  t.same(rig.books.counters(link.row), { frames_in: 2, empty: 1, oversize: 1 });
});

void t.test('a guest that is quiet has to kick, and keeps nobody awake', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  peer.wantNoCalls(1);
  peer.post(frames(1));
  peer.kick(1);
  await rig.turnUntil('kicks are wanted', () => link.arrived.length === 1 && peer.isKickWanted(1));
  t.equal(peer.called(1), 0, 'a guest that wants no calls gets none');
  peer.post(frames(1));
  await rig.turn();
  t.equal(link.arrived.length, 1, 'without a kick nobody looks');
  peer.kick(1);
  await rig.turnUntil('it arrives', () => link.arrived.length === 2);
});

void t.test('a guest says at which frame it wants to be called, and is told when to kick', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start({ features: VERSION_1 | PROTOCOL_FEATURES | EVENT_INDEXES });
  // Flags mean nothing then.
  peer.wantNoCalls(0);
  peer.offerBuffers(40);
  peer.wantCallAt(0, 5);
  rig.send(link, frames(4));
  t.equal(peer.called(0), 0);
  rig.send(link, frames(3));
  t.equal(peer.called(0), 1, 'the fifth is among these');
  rig.send(link, frames(3));
  t.equal(peer.called(0), 0);
  peer.wantCallAt(0, 11);
  rig.send(link, frames(1));
  t.equal(peer.called(0), 1);
  t.equal(peer.receive().length, 11);

  peer.wantCallAt(1, 1000);
  peer.post(frames(3));
  peer.kick(1);
  await rig.turnUntil('the next kick is wanted', () => link.arrived.length === 3 && peer.wantedKick(1) === 4);
  t.equal(peer.called(1), 0);
  peer.post(frames(1));
  await rig.turn();
  t.equal(link.arrived.length, 3, 'without a kick nobody looks');
  peer.kick(1);
  await rig.turnUntil('it arrives', () => link.arrived.length === 4);
});

void t.test('an index at which calls are wanted passes the end', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start({ features: VERSION_1 | PROTOCOL_FEATURES | EVENT_INDEXES });
  let calls = 0;
  for (let sent = 0; sent < 70_000; sent += 50) {
    peer.offerBuffers(50);
    peer.wantCallAt(0, sent + 50);
    rig.send(link, frames(49));
    t.equal(peer.called(0), 0);
    rig.send(link, frames(1));
    calls += peer.called(0);
    peer.receive();
  }
  t.equal(calls, 1400);
});

void t.test('indexes of queues pass their end', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  let sent = 0;
  while (sent < 70_000) {
    peer.post(frames(64));
    sent += 64;
    peer.kick(1);
    await rig.turnUntil('the frames are taken', () => peer.taken === (sent & 0xffff));
    link.arrived.length = 0;
  }
  t.equal(rig.books.counter(link.row, 'frames_in'), sent);
});

void t.test('a queue that is stopped tells where it was, and goes on from there', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const peer = await start();
  peer.post(frames(3));
  peer.kick(1);
  await rig.turnUntil('they arrive', () => link.arrived.length === 3);
  peer.send(REQUEST.getQueueBase, pair(1, 0));
  t.same(await answers(rig, peer, 1), [(3n << 32n) | 1n]);
  peer.post(frames(1));
  peer.kick(1);
  await rig.turn();
  t.equal(link.arrived.length, 3);
  peer.startQueue(1, 3);
  await rig.turnUntil('what waited arrives', () => link.arrived.length === 4);
});

void t.test('a guest that has gone leaves nothing open, and the next one is served', async (t) => {
  const { rig, link, start } = await guestRig(t);
  for (let round = 1; round <= 3; round++) {
    const before = readdirSync('/proc/self/fd').length;
    const peer = await start();
    peer.post(frames(1));
    peer.kick(1);
    await rig.turnUntil('it arrives', () => link.arrived.length === round);
    peer.close();
    await rig.turn();
    await rig.turn();
    t.equal(readdirSync('/proc/self/fd').length, before);
    rig.send(link, frames(1));
    t.equal(rig.books.counter(link.row, 'send_failed'), round);
  }
});

void t.test('the next life of an engine closes what the last one had, and listens again', async (t) => {
  const { rig, link, start, connect } = await guestRig(t);
  const before = readdirSync('/proc/self/fd').length;
  const peer = await start();
  // As after a death: nobody has removed the link.
  await rig.attachAgain(link);
  t.equal(peer.reply(), null);
  peer.close();
  t.equal(readdirSync('/proc/self/fd').length, before);
  const next = connect();
  next.begin();
  await answers(rig, next, 3);
  next.post(frames(1));
  next.kick(1);
  await rig.turnUntil('it arrives', () => link.arrived.length === 1);
});

void t.test('nobody is told of a guest that ends well', async (t) => {
  const { rig, link, start } = await guestRig(t);
  const reason = rig.sockets.opener.guestFault(link.endpoint);
  const peer = await start();
  peer.close();
  await rig.turn();
  rig.transport.remove(link.link);
  rig.sockets.opener.close(link.endpoint);
  t.equal(await reason, undefined);
});

/**
 * The stand-in for the C programs: one epoll wait, one recv and one send a datagram, through the same foreign
 * function layer. Arguments as of engine-forwarder; rewrites cells as an ATM switch would.
 */
import koffi from 'koffi';
import { SLAB_LENGTH } from '../../src/engine/forwarding/frame-memory.js';
import { EPOLL_CLOEXEC, MSG_DONTWAIT } from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { LinuxOpener } from '../../src/engine/sockets/linux/linux-opener.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { Poller } from '../../src/engine/sockets/linux/poller.js';
import { headerOf, hecOf, PAYLOAD_BITS } from '../../src/engine/wire/atm-cell.js';
import { openEnd, readPath } from './forwarder-path.js';

const recv = koffi.load(null).func('int64_t recv(int, uintptr_t, size_t, int)') as (
  fd: number,
  buffer: number,
  length: number,
  flags: number,
) => number;

const path = readPath();
const opener = new LinuxOpener();
const first = openEnd(opener, path.in, false).descriptor;
const second = openEnd(opener, path.out, false).descriptor;
const poller = new Poller(libc.epollCreate(EPOLL_CLOEXEC));
poller.add(first);
poller.add(second);
const frame = new NativeMemory(SLAB_LENGTH);
const view = new DataView(frame.bytes.buffer);
const label = { [first]: headerOf(2, 200), [second]: headerOf(1, 100) };
process.stdout.write('ready\n');

for (;;) {
  const ready = poller.wait(500);
  for (let index = 0; index < ready; index++) {
    const descriptor = poller.descriptorAt(index);
    const length = recv(descriptor, frame.address, SLAB_LENGTH, MSG_DONTWAIT);
    if (length <= 0) continue;
    if (path.kind === 'atm_switch') {
      const header = (label[descriptor] ?? 0) | (view.getUint32(0) & PAYLOAD_BITS);
      view.setUint32(0, header);
      frame.bytes[4] = hecOf(header);
    }
    libc.send(descriptor === first ? second : first, frame.address, length, MSG_DONTWAIT);
  }
}

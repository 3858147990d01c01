/** The worker of the packets page. */
import type { PacketOrder } from './packet-messages.js';
import { PacketDesk } from './packet-desk.js';

const desk = new PacketDesk({
  sizes: { octets: 64 * 1024 * 1024, packets: 2 ** 20 },
  report: (report) => {
    postMessage(report);
  },
  open: (url, listener) => {
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => listener.onOpen();
    socket.onmessage = ({ data }: MessageEvent<unknown>): void => {
      if (data instanceof ArrayBuffer) listener.onOctets(new Uint8Array(data));
    };
    socket.onclose = () => listener.onClose();
    return socket;
  },
  now: () => performance.now(),
  later: (callback, ms) => {
    setTimeout(callback, ms);
  },
});

onmessage = ({ data }: MessageEvent<PacketOrder>): void => {
  desk.take(data);
};

/** The worker of the packets page. */
import { OctetSources } from '../api/octet-sources.js';
import type { PacketOrder } from './packet-messages.js';
import { PacketDesk } from './packet-desk.js';

const sources = new OctetSources();
const desk = new PacketDesk({
  sizes: { octets: 64 * 1024 * 1024, packets: 2 ** 20 },
  report: (report) => {
    postMessage(report);
  },
  open: (url, listener) => sources.open(url, listener),
  now: () => performance.now(),
  later: (callback, ms) => {
    setTimeout(callback, ms);
  },
});

onmessage = ({ data }: MessageEvent<PacketOrder>): void => {
  desk.take(data);
};

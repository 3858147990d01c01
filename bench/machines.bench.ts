/**
 * QEMU to QEMU under emulation: frames a second of UDP, 1,500 octets each, between two machines that are linked nodes, and what
 * the server spends on them; beside two machines whose sockets are back to back. In turn, several rounds.
 */
import { missingGuest, placeGuest } from '../test/support/linux-guest.js';
import { figure, type Bench } from './measurement.js';
import { bareGuests, linkedGuests, loadOf, PACKET_GENERATOR } from './nodes/guest-pair.js';
import { PcLab } from './nodes/pc-lab.js';

const ROUNDS = 5;
const FRAMES = 50_000;

export const machines: Bench = {
  name: 'machines',
  async run() {
    const missing = missingGuest();
    if (missing !== false) throw new Error(missing);
    const removals: (() => unknown)[] = [];
    const lab = await PcLab.start(['--kvm', 'off']);
    const place = { teardown: (remove: () => unknown) => removals.push(remove) };
    const images = placeGuest(place, lab.data, [PACKET_GENERATOR]);
    const linked = await linkedGuests(lab);
    const bare = await bareGuests(images);
    try {
      const rates: { linked: number[]; bare: number[] } = { linked: [], bare: [] };
      const costs: number[] = [];
      // The first round warms up.
      for (let round = 0; round <= ROUNDS; round++) {
        const ours = await loadOf(linked, FRAMES);
        const theirs = await loadOf(bare, FRAMES);
        if (round === 0) continue;
        rates.linked.push(ours.framesPerSecond);
        rates.bare.push(theirs.framesPerSecond);
        costs.push(ours.costPerMillion);
      }
      const ratios = rates.linked.map((rate, round) => rate / (rates.bare[round] ?? Number.NaN));
      return [
        figure('two linked machines, emulated, 1500 octets', 'frames/s', rates.linked),
        figure('two machines back to back, emulated, 1500 octets', 'frames/s', rates.bare),
        figure('ratio of the rates', '', ratios),
        figure('the server, for a million frames', 's/million', costs),
      ];
    } finally {
      await bare.end();
      await linked.end();
      for (const remove of removals) remove();
    }
  },
};

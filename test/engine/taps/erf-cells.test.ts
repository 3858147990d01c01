import t from 'tap';
import type { TapPlan } from '../../../src/engine/taps/tap-plan.js';
import { cellOf } from '../../support/aal5-cells.js';
import { pcapRecords, planOf, TapRig } from '../../support/tap-rig.js';

function recorded(plan: Partial<TapPlan>): { vci: number; data: string }[] {
  const rig = new TapRig();
  rig.prepare(0);
  const tap = rig.logs.newTap(planOf({ packets: 'cells', ...plan }));
  const cells = [100, 101, 100, 102, 100].map((vci, index) => cellOf(1, vci, 0, Buffer.alloc(48, index)));
  tap.record('out', rig.batch(...cells.slice(0, 2), Buffer.alloc(52), ...cells.slice(2)));
  return pcapRecords(rig.drain(0)).map(({ data }) => ({
    vci: (data.readInt32BE(16) >>> 4) & 0xffff,
    data: data.toString('hex'),
  }));
}

void t.test('every cell is a record, and other frames are left out', (t) => {
  const records = recorded({});
  t.same(
    records.map(({ vci }) => vci),
    [100, 101, 100, 102, 100],
  );
  records.forEach(({ data }, index) => {
    t.equal(data.length, 2 * 68);
    t.equal(data.slice(16), `03010044000000340010${data.slice(36, 40)}${`0${index}`.repeat(48)}`);
  });
  t.end();
});

void t.test('a limit of packets and a sample hold for cells', (t) => {
  const all = recorded({});
  t.same(recorded({ maxPackets: 2 }), all.slice(0, 2));
  t.same(recorded({ sample: 2 }), [all[0], all[2], all[4]]);
  t.end();
});

/** The server is killed, or the disk fails, at operations that a duplicate of a project takes, and an import. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { projectMaking } from '../../support/archive-series.js';
import { FaultLab } from '../../support/fault-lab.js';
import { faultSeries, WHOLE_BELOW } from '../../support/fault-series.js';
import { testSeed } from '../../support/random.js';

const KILLED = { seed: testSeed(64), most: 20, wholeBelow: WHOLE_BELOW };
const FAILED = { seed: testSeed(65), most: 24, wholeBelow: WHOLE_BELOW };
const lab = await FaultLab.make(t);
const response = await fetch(`${lab.server.url}${lab.base}/export?compression=none`);
const archive = new Uint8Array(await response.arrayBuffer());

const duplicating = await projectMaking(lab, (name) => lab.client.post(`${lab.base}/duplicate`, { name }));
const importing = await projectMaking(lab, (name) =>
  lab.client.request('POST', `/v2/projects/${randomUUID()}/import?name=${name}`, archive),
);

for (const [what, work] of Object.entries({ duplicating, importing })) {
  void t.test(`killed while ${what}`, async (t) => {
    await faultSeries(t, lab, { modes: ['before'], ...work }, KILLED);
  });

  void t.test(`a fault of the disk while ${what}`, async (t) => {
    await faultSeries(t, lab, { modes: ['EIO', 'ENOSPC'], ...work }, FAILED);
  });
}

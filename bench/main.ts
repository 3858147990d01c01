/**
 * Runs the benches, all or those named on the command line, prints their figures, and records them with the
 * machine and the commit. Ratios are the steady part: absolute rates move with whatever shares the machine.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { captureCost } from './capture-cost.bench.js';
import { captureMany } from './capture-many.bench.js';
import { captureViewers } from './capture-viewers.bench.js';
import { consolePages } from './console.bench.js';
import { control } from './control.bench.js';
import { enginePair } from './engine-pair.bench.js';
import { fairness } from './fairness.bench.js';
import { filters } from './filters.bench.js';
import { forwarding } from './forwarding.bench.js';
import { fused } from './fused.bench.js';
import { growth } from './growth.bench.js';
import { idle } from './idle.bench.js';
import { labs } from './labs.bench.js';
import { machines } from './machines.bench.js';
import type { Bench, Figure } from './measurement.js';
import { nodes } from './nodes.bench.js';
import { passwords } from './passwords.bench.js';
import { price } from './price.bench.js';
import { recovery } from './recovery.bench.js';
import { requests } from './requests.bench.js';
import { runningSnapshots } from './running-snapshots.bench.js';
import { scale } from './scale.bench.js';
import { scrapes } from './scrapes.bench.js';
import { smallFiles } from './small-files.bench.js';
import { snapshots } from './snapshots.bench.js';
import { transferLoad } from './transfer-load.bench.js';
import { transfers } from './transfers.bench.js';
import { vhostUser } from './vhost-user.bench.js';

const BENCHES: readonly Bench[] = [
  requests,
  price,
  scrapes,
  passwords,
  growth,
  idle,
  forwarding,
  enginePair,
  fused,
  filters,
  captureCost,
  captureViewers,
  captureMany,
  vhostUser,
  nodes,
  machines,
  control,
  fairness,
  scale,
  labs,
  recovery,
  transfers,
  transferLoad,
  smallFiles,
  snapshots,
  runningSnapshots,
  consolePages,
];
const RESULTS = fileURLToPath(new URL('../../bench/results/', import.meta.url));

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (!BENCHES.some((bench) => bench.name === name)) throw new Error(`there is no bench ${name}`);
}
mkdirSync(RESULTS, { recursive: true });
for (const bench of BENCHES) {
  if (wanted.length > 0 && !wanted.includes(bench.name)) continue;
  const figures = await bench.run();
  process.stdout.write(`${bench.name}\n${figures.map(line).join('')}\n`);
  const result = {
    bench: bench.name,
    date: new Date().toISOString(),
    commit: commit(),
    machine: machine(),
    figures,
  };
  writeFileSync(`${RESULTS}${bench.name}.json`, `${JSON.stringify(result, null, 2)}\n`);
}

function line({ name, unit, median, least, most, aim }: Figure): string {
  const value = `${median} ${unit}`.padEnd(24);
  return `  ${name.padEnd(62)} ${value} (${least} to ${most})${aim === undefined ? '' : `, aim: ${aim}`}\n`;
}

function machine(): object {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  };
}

function commit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  return (
    git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '-uno') === '' ? '' : ' and changes')
  );
}

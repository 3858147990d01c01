/** `npm run soak:farm -- --seeds a..b`: soaks a farm, one seed after the other, and notes the results of each. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { lackForFarm } from './farm.js';
import { soak, type SeedResult } from './runner.js';

const RESULTS = 'bench/results/soak-farm.json';

interface Noted extends SeedResult {
  readonly commit: string;
  readonly machine: string;
}

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '1..1' } } });
const [, first = '', last = first] = /^(\d{1,6})(?:\.\.(\d{1,6}))?$/.exec(values.seeds) ?? [];
const lack = lackForFarm();
if (first === '' || Number(last) < Number(first)) fail('Say which seeds: --seeds 1..5');
if (lack !== false) fail(lack);

/** Ends what a seed has started, the last first. */
const undo: (() => unknown)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    void ended().finally(() => process.exit(1));
  });

for (let seed = Number(first); seed <= Number(last); seed++) {
  const t = { teardown: (callback: () => unknown) => undo.push(callback) };
  try {
    const result = await soak(t, seed, (line) => {
      tell(`seed ${seed}, ${line}`);
    });
    note(result);
    tell(`seed ${seed}: ${result.operations} operations, ${result.findings.length} findings`);
    for (const finding of result.findings) tell(`  ${finding}`);
    if (result.findings.length > 0) process.exitCode = 1;
  } finally {
    await ended();
  }
}

async function ended(): Promise<void> {
  for (const callback of undo.splice(0).reverse()) await callback();
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

function note(result: SeedResult): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const model = cpus()[0]?.model ?? 'unknown';
  const machine = `${availableParallelism()} cores, ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const before = existsSync(RESULTS)
    ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as { seeds: Noted[] }).seeds
    : [];
  const seeds = [...before.filter(({ seed }) => seed !== result.seed), { ...result, commit, machine }];
  seeds.sort((a, b) => a.seed - b.seed);
  writeFileSync(RESULTS, `${JSON.stringify({ seeds }, null, 2)}\n`);
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}

/** A server that has programs and nothing else. Tests kill it. It says when all have printed their first line. */
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { Keeper } from '../../../src/run/keeper/keeper.js';
import { eventually } from '../../support/eventually.js';

const [folder = '', graceSeconds = '', programs = ''] = process.argv.slice(2);
const mark = readFileSync(0, 'utf8').trim();
const count = Number(programs);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const keeper = new Keeper({
  folder,
  mark,
  graceSeconds: Number(graceSeconds),
  log: pino({ level: 'silent' }),
  onLost: () => {
    say('lost');
  },
});
say('starts');
await keeper.start();
say('started');
await Promise.allSettled(
  Array.from({ length: count }, async (_, index) => {
    const program = await keeper.spawn({
      id: String(index),
      command: 'sh',
      args: ['-c', `echo hello ${index}; trap "" HUP; while read line; do echo "got $line"; done`],
      folder: '/tmp',
      environment: { PATH: '/usr/bin:/bin' },
      niceness: 0,
      console: index % 2 === 0 ? 'terminal' : 'pipes',
      memo: { index, name: `PC ${index}` },
    });
    say(`spawned ${index}`);
    const hasPrinted = eventually('it prints', () => (program.output.length > 0 ? true : undefined));
    await Promise.race([hasPrinted, program.ended]);
  }),
);
say('spawned all');
// With nothing to do, the process ends, although the programs run.
if (process.argv[5] !== 'leave') setInterval(() => undefined, 60_000);

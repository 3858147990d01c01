/**
 * A server that writes the processor time of the longest slice of each text that is made while it is sent, in milliseconds, a line
 * a text, to the file that the environment names. A slice is all that a text does in one turn of the event loop, the sending
 * included.
 */
import { appendFileSync } from 'node:fs';
import { SlicedText } from '../src/http/sliced-text.js';
import { readCommand } from '../src/server/config.js';
import { serve } from '../src/server/serve.js';
import { Threads } from '../src/server/threads.js';
import { threadMs } from './thread-clock.js';

const path = process.env['WIREFARM_BENCH_SLICES'] ?? '';
const prototype = SlicedText.prototype;
// It is called by the method below with the text that it is a method of.
// eslint-disable-next-line @typescript-eslint/unbound-method
const { next } = prototype;
const slices = new WeakMap<SlicedText, { turn: number; current: number; longest: number }>();
let turn = 0;
let isTurning = false;

function newTurn(): void {
  turn++;
  isTurning = false;
}

prototype.next = function meteredNext(this: SlicedText, use) {
  if (!isTurning) setImmediate(newTurn);
  isTurning = true;
  const began = threadMs();
  const result = next.call(this, use);
  const slice = slices.get(this) ?? { turn, current: 0, longest: 0 };
  if (slice.turn !== turn) slice.current = 0;
  slice.turn = turn;
  slice.current += threadMs() - began;
  slice.longest = Math.max(slice.longest, slice.current);
  slices.set(this, slice);
  if (result === 'over') appendFileSync(path, `${slice.longest}\n`);
  return result;
};

const command = readCommand(process.argv.slice(2), process.env);
if (command.run !== 'serve') throw new Error('it is a server only');
await serve(command.start, new Threads(command.config));

/** The line of a transfer, on a terminal that the test holds, and on one of the system. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { ProgressBar } from '../../src/cli/progress-bar.js';
import { Program } from '../support/cli.js';
import { StockImages } from '../support/stock-images.js';
import { scratchFolder } from '../support/scratch.js';

const CLEAR = '\r\u001b[K';

class Screen {
  readonly lines: string[] = [];
  width = 100;
  nowMs = 0;
  readonly bar = new ProgressBar(
    { columns: () => this.width, draw: (text) => this.lines.push(text) },
    () => this.nowMs,
  );

  get last(): string | undefined {
    return this.lines.at(-1)?.replace(CLEAR, '');
  }
}

void t.test('a line tells share, amount, rate and time left', (t) => {
  const screen = new Screen();
  screen.bar.begin('x.img', 200_000_000, 50_000_000);
  t.equal(screen.last, 'x.img  [#####...............]   25 %  50.0 MB of 200 MB  0 B/s');
  screen.nowMs = 2000;
  screen.bar.moved(20_000_000);
  t.equal(screen.last, 'x.img  [#######.............]   35 %  70.0 MB of 200 MB  10.0 MB/s  0:13 left');
  // The rate is that of the last seconds.
  for (let second = 3; second <= 20; second++) {
    screen.nowMs = second * 1000;
    screen.bar.moved(1_000_000);
  }
  t.match(screen.last, /88\.0 MB of 200 MB {2}1\.00 MB\/s {2}1:52 left$/);
  screen.bar.begin('reading', undefined);
  t.equal(screen.last, 'reading  0 B  0 B/s');
  screen.bar.begin('empty', 0);
  t.match(screen.last, /100 %/);
  t.end();
});

void t.test('it is drawn ten times a second at most, and never broken into two lines', (t) => {
  const screen = new Screen();
  screen.width = 20;
  screen.bar.begin('long-name-of-an-image.qcow2', 1000);
  t.equal(screen.last, 'long-name-of-an-ima');
  for (let step = 0; step < 1000; step++) {
    screen.nowMs += 1;
    screen.bar.moved(1);
  }
  t.equal(screen.lines.length, 11);
  screen.bar.note('broke');
  t.equal(screen.last, 'broke');
  screen.bar.clear();
  t.equal(screen.lines.at(-1), CLEAR);
  screen.bar.clear();
  t.equal(screen.lines.length, 13);
  t.end();
});

const hasScript = spawnSync('script', ['--version']).status === 0;

void t.test('a terminal shows it', { skip: hasScript ? false : 'needs bsdutils' }, async (t) => {
  const stock = await StockImages.start(t);
  stock.content.set('x.img', Buffer.alloc(1_000_000));
  const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
  const command = `'${process.execPath}' '${main}' pull x.img --url ${stock.url} --output '${scratchFolder(t)}'`;
  const shown = async (more = ''): Promise<string> =>
    (await new Program(t, 'script', ['-qec', command + more, '/dev/null']).ended).output;
  const lines = (await shown()).split(CLEAR);
  t.equal(lines[0], '');
  t.match(
    lines.find((line) => line.startsWith('x.img  [')),
    /^x\.img {2}\[#*\.*\] +\d+ % /,
  );
  t.match(lines.at(-1), /^x\.img is at .*\r\n$/);
  t.equal(await shown(' --force --quiet'), '');
});

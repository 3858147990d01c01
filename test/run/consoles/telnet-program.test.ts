/** The console of a node as the telnet program of the system shows it, in a terminal of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { ConsoleHub } from '../../../src/run/consoles/console-hub.js';
import { TelnetListener } from '../../../src/run/consoles/telnet-listener.js';

const HOST = '127.0.0.1';

function missing(): string | false {
  const isThere = (program: string): boolean => spawnSync('which', [program]).status === 0;
  if (!isThere('script')) return 'the program script is missing: install the package bsdutils';
  return isThere('telnet') ? false : 'the program telnet is missing: install the package telnet';
}

const skip = missing();

void t.test('telnet shows what was printed, types, and tells its window', { skip }, async (t) => {
  const reserved = createServer().listen(0, HOST);
  await once(reserved, 'listening');
  const { port } = reserved.address() as AddressInfo;
  reserved.close();
  await once(reserved, 'close');

  const hub = new ConsoleHub();
  const seen: string[] = [];
  let wake: () => void = () => undefined;
  const note = (what: string): void => {
    seen.push(what);
    wake();
  };
  hub.connect({
    write: (bytes) => {
      note(JSON.stringify(Buffer.from(bytes).toString()));
      hub.printed(bytes);
    },
    resize: (columns, rows) => {
      note(`${columns}x${rows}`);
    },
    sendBreak: () => {
      note('break');
    },
  });
  hub.printed(Buffer.from('Grüße von PC1\r\n'));
  const listener = new TelnetListener(hub, { reach: { host: HOST, serves: () => true }, port });
  await listener.listen();
  t.teardown(() => listener.close());

  const command = `stty rows 43 cols 132; exec telnet -E ${HOST} ${port}`;
  const program = spawn('script', ['-qfec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let shown = '';
  program.stdout.on('data', (bytes: Buffer) => {
    shown += bytes.toString();
    wake();
  });
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await new Promise<void>((resolve) => (wake = resolve));
  };
  await until(() => shown.endsWith('Grüße von PC1\r\n') && seen.length === 1);
  program.stdin.write('show ïp\r');
  await until(() => shown.endsWith('show ïp\r'));
  t.match(seen[0], '132x43');
  t.equal(
    seen
      .slice(1)
      .map((typed) => JSON.parse(typed) as string)
      .join(''),
    'show ïp\r',
    'Return is one byte',
  );
  hub.reset();
  await once(program, 'exit');
});

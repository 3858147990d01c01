/** The table of commands, through the process. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { cli } from '../support/cli.js';

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
};

void t.test('help names every command, and the version is that of the package', async (t) => {
  t.match(await cli(t, ['help']), {
    code: 0,
    output: /^Usage:\n {2}wirefarm serve .*--version/s,
    errors: '',
  });
  t.same(await cli(t, ['--help']), await cli(t, ['help']));
  t.same(await cli(t, ['--version']), { code: 0, output: `Wirefarm ${manifest.version}\n`, errors: '' });
});

void t.test('a wrong command line is told in one line and ends with 2', async (t) => {
  const wrong: [args: string[], message: string][] = [
    [[], 'say what to do: wirefarm help lists the commands'],
    [['nonsense'], 'there is no command nonsense: wirefarm help lists them'],
    [['constructor'], 'there is no command constructor: wirefarm help lists them'],
    [['extcap'], 'say what to do: wirefarm extcap --help'],
    [['extcap', '--nonsense'], "Unknown option '--nonsense' (wirefarm extcap --help)"],
  ];
  for (const [args, message] of wrong) {
    t.same(await cli(t, args), { code: 2, output: '', errors: `wirefarm: ${message}\n` });
  }
});

void t.test('the package offers the program', (t) => {
  t.same(manifest.bin, { wirefarm: 'dist/src/cli/main.js' });
  const program = readFileSync(new URL('../../src/cli/main.js', import.meta.url), 'utf8');
  t.match(program, /^#!\/usr\/bin\/env node\n/);
  t.end();
});

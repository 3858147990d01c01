import t from 'tap';
import { platformProblem } from '../../src/server/platform.js';

void t.test('this machine is supported, or no test would run', (t) => {
  t.equal(platformProblem(), undefined);
  t.end();
});

void t.test('versions of Node without binaries are told in one line', (t) => {
  for (const good of ['20.15.0', '20.20.2', '22.2.0']) t.equal(platformProblem(good, 'linux-x64'), undefined);
  for (const bad of ['18.20.0', '20.14.1', '22.1.9', '21.7.0', '23.0.0', '24.1.0', '2.20.0', '']) {
    t.match(
      platformProblem(bad, 'linux-x64'),
      new RegExp(`^Node\\.js ${bad} is not supported: use 20\\.15 or later, or 22\\.2 `),
    );
  }
  t.end();
});

void t.test('platforms without binaries are told in one line', (t) => {
  for (const good of ['linux-arm64', 'darwin-x64', 'darwin-arm64'])
    t.equal(platformProblem('20.15.0', good), undefined);
  for (const bad of ['win32-x64', 'linux-ia32', 'freebsd-x64']) {
    t.match(platformProblem('20.15.0', bad), new RegExp(`^the platform ${bad} is not supported: `));
  }
  t.end();
});

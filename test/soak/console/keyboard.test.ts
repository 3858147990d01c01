/** A whole session without a pointer, under the strict policy. */
import t from 'tap';
import { firstAdmin } from '../../support/accounts.js';
import { ConsoleBrowser, missingConsoleBrowser } from '../../support/console/console-browser.js';
import { keysOf } from '../../support/console/keyboard.js';
import { keyboardSession } from '../../support/console/keyboard-session.js';
import { startServer } from '../../support/server-process.js';

const server = await startServer(t);
const host = { client: await firstAdmin(server), url: server.url };

void t.test('Chromium is used by keys alone', { skip: missingConsoleBrowser() }, async (t) => {
  const browser = await ConsoleBrowser.start(t);
  const { page, complaints } = await browser.open(server);
  await keyboardSession(t, keysOf(page), host);
  t.same(complaints, []);
});

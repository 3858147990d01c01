/** The description of the interface as a browser shows it: swagger-ui takes many seconds for a document of this size. */
import t from 'tap';
import { ConsoleBrowser, hindrances, missingConsoleBrowser } from '../../support/console/console-browser.js';
import { startServer } from '../../support/server-process.js';

/** Three rules that swagger-ui breaks by itself: methods and version, a link in a button, links of small height. */
const OF_THE_LIBRARY = /^(light|dark) (color-contrast|nested-interactive|target-size):/;

void t.test(
  'calls of the description can be tried, and nobody else is asked',
  { skip: missingConsoleBrowser() },
  async (t) => {
    const server = await startServer(t);
    const browser = await ConsoleBrowser.start(t);
    const { page, complaints } = await browser.open(server, '#/labs');
    await page.goto(`${server.url}/docs`);
    await page.getByRole('heading', { name: /^Server/ }).click();
    await page.getByRole('button', { name: 'Show the GNS3 version that this server speaks' }).click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    const reply = page.waitForResponse(/\/v2\/version$/);
    await page.getByRole('button', { name: 'Execute' }).click();
    t.equal((await reply).status(), 200);
    t.same(
      (await hindrances(page)).filter((hindrance) => !OF_THE_LIBRARY.test(hindrance)),
      [],
    );
    t.same(complaints, []);
  },
);

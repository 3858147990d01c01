/** Pages at a server that is killed and comes back, sooner and later: each hears it again by WebSockets, and shows what is new. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { ConsoleBrowser, missingConsoleBrowser } from '../../support/console/console-browser.js';
import { eventually } from '../../support/eventually.js';
import { end, LinkLab } from '../../support/link-lab.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';

/** A port that nobody else takes while the server is away: its console ports, which no node of it needs. */
const FLAGS = ['--port', ownConsolePorts().split('-')[0] ?? ''];
/** So many connections have failed when the server comes back: pages try sockets then, or HTTP. */
const FAILURES = [0, 3, 4, 5];
/** The browser says so of what is cut. */
const CUT = /ERR_(CONNECTION|EMPTY|ABORTED|FAILED|SOCKET|INCOMPLETE)|WebSocket connection to .* failed/;

void t.test('pages find a server that was killed', { skip: missingConsoleBrowser() }, async (t) => {
  let server = await startServer(t, { flags: FLAGS });
  const client = new Client(server.url);
  const lab = await LinkLab.make({ client, url: server.url }, { auto_open: true });
  const [a, b] = [await lab.hub('left'), await lab.hub('right')];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const browser = await ConsoleBrowser.start(t);
  const { page: labs, complaints } = await browser.open(server, '#/labs');
  const open = async (address: string): Promise<typeof labs> => {
    const page = await labs.context().newPage();
    await page.goto(`${server.url}/#/labs/${lab.id}${address}`);
    return page;
  };
  const map = await open('');
  const packets = await open(`/packets?links=${String(link['link_id'])}`);
  let failed = 0;
  labs.on('console', (message) => {
    if (CUT.test(message.text())) failed++;
  });
  for (const [round, failures] of FAILURES.entries()) {
    await packets.getByText(/● live · held/).waitFor();
    for (const page of [labs, map, packets])
      await page
        .getByRole('banner')
        .getByText(/ live$/)
        .waitFor();
    await server.stop('SIGKILL');
    failed = 0;
    for (const page of [labs, map, packets])
      await page.getByRole('banner').getByText('connection lost').waitFor();
    await eventually('connections have failed', () => (failed >= failures ? true : undefined));
    server = await startServer(t, { data: server.data, flags: FLAGS });
    await client.expect(201, 'POST', '/v2/projects', { name: `made ${round}` });
    await lab.hub(`late${round}`);
    for (const page of [labs, map, packets])
      await page
        .getByRole('banner')
        .getByText(/ live$/)
        .waitFor();
    await labs.getByRole('link', { name: `made ${round}`, exact: true }).waitFor();
    await map
      .getByRole('row')
      .filter({ hasText: `late${round}` })
      .waitFor();
    await lab.hub(`later${round}`);
    await map
      .getByRole('row')
      .filter({ hasText: `later${round}` })
      .waitFor();
  }
  t.same(
    complaints.filter((complaint) => !CUT.test(complaint)),
    [],
  );
});

/** A whole session without a pointer, from signing in to deleting what was made. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PASSWORD } from '../accounts.js';
import { eventually } from '../eventually.js';
import { LinkLab, type LabHost } from '../link-lab.js';
import { SAMPLE_FRAMES } from '../sample-frames.js';
import { scratchFolder } from '../scratch.js';
import { Keyboard, type Keys } from './keyboard.js';

const FRAMES = SAMPLE_FRAMES.filter(({ linkType }) => linkType === 1).map(({ octets }) => octets);
const SIZE = 100_000;

/** The page asks for a password when it begins. The host is the admin `root`, who sees that all was done. */
export async function keyboardSession(t: Test, keys: Keys, host: LabHost): Promise<void> {
  const { client } = host;
  const keyboard = new Keyboard(keys);
  await keyboard.goTo('User');
  await keyboard.type('root');
  await keyboard.press('Tab');
  await keyboard.type(PASSWORD);
  await keyboard.press('Enter');
  await keyboard.meet('navigation', 'Menu');

  await keyboard.press('g', 'l');
  await keyboard.read('There is no lab yet.');
  await keyboard.find('New lab');
  await keyboard.answer('New lab', 'session');
  await keyboard.meet('application', 'Map of session');
  const [{ project_id: id } = {}] = (await client.get('/v2/projects')).body as { project_id: string }[];
  const lab = new LinkLab(host, String(id));

  for (const name of ['Switch1', 'Switch2']) {
    await keyboard.press('a');
    await keyboard.meet('option', 'Ethernet switch');
    await keyboard.answer('Add node', 'Ethernet switch');
    await keyboard.meet('heading', name);
  }
  await keyboard.press('l');
  await keyboard.answer('Link');
  await keyboard.meet('heading', 'Switch2 0/0 – Switch1 0/0');
  const [link = {}] = await lab.list();

  await keyboard.goTo('Inspector', 'F6');
  await keyboard.meet('form', 'Filters');
  await keyboard.goTo('Delay: Latency ms');
  await keyboard.type('20');
  await keyboard.press('Enter');
  await eventually('the delay', async () => {
    const { forward } = await client.expect(200, 'GET', `${lab.at(link)}/directed_filters`);
    return (forward as { delay?: number[] }).delay?.[0] === 20 || undefined;
  });

  await keyboard.press('Escape', 'p');
  await keyboard.read('● live · held');
  const [node = {}] = (await client.get(`${lab.path}/nodes`)).body as Record<string, unknown>[];
  const { peer, near } = await lab.peer(t, node, 3);
  await peer.send(near, FRAMES);
  await keyboard.press('/');
  await keyboard.type('arp');
  // The switch drops frames of other VLANs.
  await keyboard.read('1 of ');

  await keyboard.press('Escape');
  await keyboard.find('Lab session');
  await keyboard.meet('application', 'Map of session');
  await keyboard.goTo('▸Switch1 running', 'F6');
  await keyboard.press('ArrowRight', 'ArrowDown');
  await keyboard.meet('heading', 'Switch2 0/0 – Switch1 0/0');
  await keyboard.press('c');
  await keyboard.meet('button', 'Stop capture');
  await keyboard.press('c');
  await keyboard.meet('button', 'Start capture');
  t.match((await client.get(`${lab.path}/captures`)).body, [{ state: 'finished' }]);

  await keyboard.find('Snapshots of session');
  await keyboard.read('This lab has no snapshot yet.');
  await keyboard.find('Take a snapshot');
  await keyboard.answer('Take a snapshot', 'before');
  await keyboard.find('Lab session');
  await keyboard.meet('application', 'Map of session');
  await keyboard.press('a');
  await keyboard.meet('option', 'Ethernet hub');
  await keyboard.answer('Add node', 'Ethernet hub');
  await keyboard.meet('heading', 'Hub1');
  await keyboard.find('Snapshots of session');
  await keyboard.meet('button', 'Changes since before');
  await keyboard.goTo('Changes since before');
  await keyboard.press('Enter');
  await keyboard.read('+ added node Hub1');
  await keyboard.goTo('Restore before');
  await keyboard.press('Enter');
  await keyboard.answer('Restore the lab from before', 'before');
  await keyboard.read('The lab is as it was in before.');
  t.equal(((await client.get(`${lab.path}/nodes`)).body as unknown[]).length, 2);

  const image = join(scratchFolder(t), 'vios.qcow2');
  writeFileSync(image, Buffer.alloc(SIZE, 'vios'));
  await keyboard.press('g', 'i');
  await keyboard.read('There is no image of this emulator yet.');
  await keyboard.goTo('Upload files');
  await keyboard.choose('Enter', image);
  await keyboard.meet('button', 'Delete vios.qcow2');
  t.match((await client.get('/v2/compute/qemu/images')).body, [{ filename: 'vios.qcow2', filesize: SIZE }]);
  await keyboard.goTo('Delete vios.qcow2');
  await keyboard.press('Enter');
  await keyboard.answer('Delete this image', 'vios.qcow2');
  await keyboard.read('There is no image of this emulator yet.');

  await keyboard.press('g', 'l');
  await keyboard.meet('checkbox', 'Select session');
  await keyboard.goTo('Select session');
  await keyboard.press(' ');
  await keyboard.meet('button', 'Delete…');
  await keyboard.goTo('Delete…', 'Shift+Tab');
  await keyboard.press('Enter');
  await keyboard.answer('Delete this lab', 'session');
  await keyboard.read('There is no lab yet.');
}

/** Frames that routers send at serial and ATM cards: the real program, and the switches of this server. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LINK_TYPE } from '../../../../src/engine/wire/pcap.js';
import { atmRouterImage } from '../../../support/atm-router-image.js';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, type Json } from '../../../support/node-lab.js';
import { missingDynamips } from '../../../support/router-image.js';
import { serialRouterImage } from '../../../support/serial-router-image.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../../support/tshark.js';

const skip = missingDynamips() || missingTshark();
const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const images = join(server.data, 'images', 'IOS');
mkdirSync(images, { recursive: true });
/** The address of Frame Relay for the DLCI 101, a frame without numbers, IPv4, and text. */
const ADDRESS = Buffer.from('185103cc', 'hex');
const SENT = Buffer.concat([ADDRESS, Buffer.from('F is for frame')]);
const { image, idlePc } = serialRouterImage('router is up\r\n', SENT);
writeFileSync(join(images, 'serial.image'), image);
/** LLC, for IPv4, and text that takes more than a cell. */
const PACKET = Buffer.concat([
  Buffer.from('aaaa030000000800', 'hex'),
  Buffer.from('cells of a frame '.repeat(8)),
]);
const atm = atmRouterImage({ vpi: 0, vci: 100 }, PACKET);
writeFileSync(join(images, 'atm.image'), atm.image);

function router(lab: NodeLab, name: string): Promise<Json> {
  return lab.node('dynamips', name, {
    ...{ platform: 'c3600', chassis: '3620', image: 'serial.image', ram: 64, idlepc: idlePc, slot1: 'NM-4T' },
  });
}

/** The file of a capture on a link. */
async function capture(lab: NodeLab, link: Json, type: string): Promise<string> {
  const wanted = { data_link_type: type };
  const started = await lab.client.expect(201, 'POST', `${lab.linkAt(link)}/start_capture`, wanted);
  return String(started['capture_file_path']);
}

async function recorded(file: string, bytes: number): Promise<Buffer> {
  return eventually('the frame is recorded', () => {
    const content = readFileSync(file);
    return content.length >= bytes ? content : undefined;
  });
}

async function started(t: Test, lab: NodeLab, node: Json) {
  await lab.act(node, 'start');
  const console = await lab.console(t, node);
  await console.until(/router is up/);
  return console;
}

void t.test('a router sends over Frame Relay, and another one hears it', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const relay = await lab.node('frame_relay_switch', 'F1', { mappings: { '1:101': '10:202' } });
  const [one, other] = [await router(lab, 'R1'), await router(lab, 'R2')];
  const near = await lab.link([one, 1, 0], [relay, 1]);
  const far = await lab.link([other, 1, 0], [relay, 10]);
  const [nearFile, farFile] = [await capture(lab, near, 'DLT_FRELAY'), await capture(lab, far, 'DLT_FRELAY')];
  const [sender, hearer] = [await started(t, lab, one), await started(t, lab, other)];
  sender.press('k');
  await sender.until(/k/);
  await hearer.until(/F/);
  const whole = 24 + 16 + SENT.length;
  const files = [await recorded(nearFile, whole), await recorded(farFile, whole)];
  for (const [index, file] of files.entries()) {
    t.equal(file.readUInt32LE(20), LINK_TYPE.FRELAY);
    t.same(tsharkRows(file, ['fr.dlci', 'frame.len']), [[['101', '202'][index], String(SENT.length)]]);
    t.equal(file.subarray(-14).toString('latin1'), 'F is for frame');
  }
});

void t.test('two routers that are linked hear each other', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const [one, other] = [await router(lab, 'R1'), await router(lab, 'R2')];
  const link = await lab.link([one, 1, 0], [other, 1, 0]);
  const file = await capture(lab, link, 'DLT_C_HDLC');
  const [first, second] = [await started(t, lab, one), await started(t, lab, other)];
  first.press('a');
  await second.until(/F/);
  second.press('b');
  await first.until(/F/);
  const content = await recorded(file, 24 + 2 * (16 + SENT.length));
  t.equal(content.readUInt32LE(20), LINK_TYPE.C_HDLC);
  t.same(content.subarray(-SENT.length), SENT, 'as it was sent');
});

void t.test('a router sends over ATM, through a switch', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const relay = await lab.node('atm_switch', 'A1', { mappings: { '1:0:100': '10:0:200' } });
  const end = await lab.node('atm_switch', 'A2', { mappings: { '1:0:200': '2:0:1' } });
  const one = await lab.node('dynamips', 'R1', {
    ...{ platform: 'c7200', npe: 'npe-400', image: 'atm.image', ram: 64, idlepc: atm.idlePc, slot1: 'PA-A1' },
  });
  const near = await lab.link([one, 1, 0], [relay, 1]);
  const far = await lab.link([relay, 10], [end, 1]);
  const files = [await capture(lab, near, 'DLT_ATM_RFC1483'), await capture(lab, far, 'DLT_ATM_RFC1483')];
  await lab.act(one, 'start');
  for (const [index, file] of files.entries()) {
    const content = await recorded(file, 24 + 16 + PACKET.length);
    t.equal(content.readUInt32LE(20), LINK_TYPE.SUNATM);
    t.same(tsharkRows(content, ['atm.vpi', 'atm.vci']), [['0', ['100', '200'][index]]]);
    t.ok(content.includes(PACKET), 'as it was sent');
  }
});

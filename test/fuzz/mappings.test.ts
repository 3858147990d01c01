/** The mappings of switches that clients send, and AAL5 frames put together from whatever cells come. */
import { deepEqual, ok } from 'node:assert/strict';
import t from 'tap';
import { connectionsOf } from '../../src/lab/kinds/mapped-connections.js';
import { atmSwitch } from '../../src/lab/kinds/atm-switch.js';
import { ethernetHub } from '../../src/lab/kinds/ethernet-hub.js';
import { ethernetSwitch } from '../../src/lab/kinds/ethernet-switch.js';
import { frameRelaySwitch } from '../../src/lab/kinds/frame-relay-switch.js';
import { Aal5Memory } from '../../src/engine/taps/aal5-memory.js';
import { Reassembly } from '../../src/engine/taps/reassembly.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { rounds } from '../support/rounds.js';
import { portOwnerOf } from '../support/port-owners.js';

const INPUTS = rounds(400, 20_000);
const CELL = 53;

void t.test('mappings of ATM and Frame Relay switches', async (t) => {
  const check = (input: Buffer): void => {
    const lines = input.toString('latin1').split('\n');
    const mappings: Record<string, unknown> = Object.fromEntries(
      lines.map((line) => line.split('=') as [string, unknown]),
    );
    for (const kind of [atmSwitch, frameRelaySwitch]) {
      const given = kind.properties.safeParse({ mappings });
      // Properties that an older version stored have ports, too.
      for (const { port_number } of kind.ports(portOwnerOf({ mappings }))) ok(port_number <= 65_535);
      const properties = given.success ? unlessRefused(() => kind.create(given.data)) : undefined;
      if (properties === undefined) continue;
      const connections = connectionsOf(properties);
      for (const { destination } of connections)
        ok(
          connections.some((back) => back.source.join() === destination.join()),
          'a way back is missing',
        );
      deepEqual(kind.create(properties), properties);
    }
  };
  const samples = ['1:0:100=10:0:200\n1:5=2:6', '1:101=10:202', '0:4095:65535=1:1:32'];
  const words = [':', '=', '\n', '65535', '65536', '4096', '1023', '__proto__'];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, longest: 400, check }));
});

void t.test('ports of Ethernet switches and hubs', async (t) => {
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  const check = (input: Buffer): void => {
    const list = parsed(input.toString('latin1'));
    for (const kind of [ethernetSwitch, ethernetHub]) {
      // Files of other programs may hold anything.
      const shown = kind.ports(portOwnerOf({ ports_mapping: list }));
      deepEqual(
        shown.map(({ port_number: number }) => number),
        shown.map((_, index) => index),
      );
      const given = kind.properties.safeParse({ ports_mapping: list });
      const properties = given.success ? unlessRefused(() => kind.create(given.data)) : undefined;
      if (properties === undefined) continue;
      deepEqual(kind.create(properties), properties);
      const changed = unlessRefused(() => kind.update(kind.create({}), properties, false));
      if (changed !== undefined) deepEqual(kind.update(changed, changed, true), changed);
    }
  };
  const port = { name: 'Ethernet0', port_number: 0, type: 'qinq', vlan: 7, ethertype: '0x88A8' };
  const samples = [[port], [{ name: 'Ethernet0', port_number: 0 }], []].map((list) => JSON.stringify(list));
  const words = [
    '"name":',
    '"vlan":',
    '"type":',
    '"dot1q"',
    '"access"',
    '{',
    '}',
    ',',
    'null',
    '4094',
    '4095',
    '-1',
  ];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, longest: 600, check }));
});

void t.test('cells of AAL5 frames', async (t) => {
  const check = (input: Buffer): void => {
    const reassembly = new Reassembly(new Aal5Memory());
    const view = new DataView(input.buffer, input.byteOffset, input.length);
    for (let at = 0; at + CELL <= input.length; at += CELL) {
      if (!reassembly.take(view, at, false, 100)) continue;
      ok(
        reassembly.length >= 0 && reassembly.length <= input.length,
        `${reassembly.length} octets of a frame`,
      );
    }
    reassembly.close();
  };
  const cell = (header: string): Buffer => Buffer.concat([Buffer.from(header, 'hex'), Buffer.alloc(48)]);
  const samples = [Buffer.concat([cell('0010020000'), cell('0010020200')]), cell('0010020200')];
  t.type(await fuzz({ samples, inputs: INPUTS / 5, longest: 8 * CELL, check }), 'number');
});

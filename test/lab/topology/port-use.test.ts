import t from 'tap';
import { PortUse } from '../../../src/lab/topology/port-use.js';
import { Transaction } from '../../../src/lab/projects/transaction.js';
import { idOf, storedLinkOf } from '../../support/stored-objects.js';

const end = (node: number, port = 0): { node_id: string; adapter_number: number; port_number: number } => ({
  node_id: idOf(node),
  adapter_number: 0,
  port_number: port,
});

void t.test('both ends of a link are used, and nothing else', (t) => {
  const use = new PortUse();
  use.connect(storedLinkOf(9, [1, 3], [2, 4]));
  t.ok(use.isUsed(end(1, 3)));
  t.ok(use.isUsed(end(2, 4)));
  t.notOk(use.isUsed(end(1, 4)));
  t.notOk(use.isUsed(end(3)));
  t.notOk(use.isUsed({ ...end(1, 3), adapter_number: 1 }));
  t.same(
    [1, 2, 3].map((node) => use.isConnected(idOf(node))),
    [true, true, false],
  );
  t.same(use.usedPorts(idOf(1)), [{ adapter: 0, port: 3, linkId: idOf(9) }]);
  t.same(use.usedPorts(idOf(3)), []);
  t.end();
});

void t.test('a removed link frees its ports', (t) => {
  const use = new PortUse();
  const link = storedLinkOf(8, [1, 0], [2, 0]);
  use.connect(link);
  use.connect(storedLinkOf(9, [1, 1], [3, 0]));
  use.disconnect(link);
  t.notOk(use.isUsed(end(1)));
  t.ok(use.isConnected(idOf(1)), 'by its other link');
  t.notOk(use.isConnected(idOf(2)));
  t.same([...use.linksOf(idOf(1))], [idOf(9)]);
  t.end();
});

void t.test('a node that is linked twice names each link once', (t) => {
  const use = new PortUse();
  use.connect(storedLinkOf(8, [1, 0], [1, 1]));
  use.connect(storedLinkOf(9, [1, 2], [2, 0]));
  t.same([...use.linksOf(idOf(1))], [idOf(8), idOf(9)]);
  t.end();
});

void t.test('the later of two links on one port has it, also when the earlier goes', (t) => {
  const use = new PortUse();
  const earlier = storedLinkOf(8, 1, 2);
  use.connect(earlier);
  use.connect(storedLinkOf(9, 1, 3));
  use.disconnect(earlier);
  t.ok(use.isUsed(end(1)));
  t.notOk(use.isUsed(end(2)));
  t.same([...use.linksOf(idOf(1))], [idOf(9)]);
  t.end();
});

void t.test('the changes of a transaction are taken back with it', (t) => {
  const use = new PortUse();
  const kept = storedLinkOf(8, 1, 2);
  use.connect(kept);
  const transaction = new Transaction();
  use.disconnectIn(transaction, kept);
  use.connectIn(transaction, storedLinkOf(9, 1, 3));
  t.notOk(use.isUsed(end(2)));
  transaction.undoAll();
  t.same([...use.linksOf(idOf(1))], [idOf(8)]);
  t.ok(use.isUsed(end(2)));
  t.notOk(use.isConnected(idOf(3)));
  t.end();
});

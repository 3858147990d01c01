/** Numbers that only one node has. */
import t from 'tap';
import { ConsolePorts } from '../../../src/lab/console-ports.js';
import { docker } from '../../../src/lab/kinds/docker.js';
import { iou } from '../../../src/lab/kinds/iou.js';
import { vpcs } from '../../../src/lab/kinds/vpcs.js';
import { Transaction } from '../../../src/lab/projects/transaction.js';
import { HostNumbers } from '../../../src/lab/topology/host-numbers.js';

void t.test('each node gets the number that it asks for, or the lowest free one', (t) => {
  const numbers = new HostNumbers(new ConsolePorts([5000, 5002]));
  t.same(numbers.take(iou, { path: 'a', application_id: 3 }), { path: 'a', application_id: 3 });
  t.same(numbers.take(iou, { application_id: 3 }), { application_id: 1 });
  t.same(numbers.take(iou, { application_id: null }), { application_id: 2 });
  t.same(numbers.take(iou, { application_id: 512 }), { application_id: 4 });
  numbers.release(iou, { application_id: 2 });
  t.same(numbers.take(iou, { application_id: 'x' }), { application_id: 2 });
  t.same(numbers.take(vpcs, { application_id: 2 }), { application_id: 2 }, 'other kinds have none');
  t.end();
});

void t.test('a change that is undone gives its number back, and one that is stored the earlier one', (t) => {
  const numbers = new HostNumbers(new ConsolePorts([5000, 5002]));
  const undone = new Transaction();
  t.same(numbers.takeIn(undone, iou, {}), { application_id: 1 });
  undone.undoAll();
  const stored = new Transaction();
  const before = numbers.takeIn(stored, iou, {});
  t.same(before, { application_id: 1 });
  t.equal(numbers.moveIn(stored, iou, before, before), before);
  t.same(numbers.moveIn(stored, iou, before, { application_id: 9 }), { application_id: 9 });
  t.same(numbers.take(iou, {}), { application_id: 2 });
  stored.publishAll();
  t.same(numbers.take(iou, { application_id: 1 }), { application_id: 1 });
  t.end();
});

void t.test('when all numbers are taken a new node is refused, and one that is loaded has none', (t) => {
  const numbers = new HostNumbers(new ConsolePorts([5000, 5002]));
  for (let number = 1; number <= 511; number++) numbers.take(iou, {});
  t.throws(() => numbers.takeIn(new Transaction(), iou, {}), { code: 'too_many', status: 409 });
  t.same(numbers.take(iou, { application_id: 5 }), { application_id: null });
  t.end();
});

void t.test('a number without a last one is a console port, or null', (t) => {
  const ports = new ConsolePorts([5000, 5002]);
  const numbers = new HostNumbers(ports);
  ports.reserve(5000);
  t.same(numbers.take(docker, { aux: null }), { aux: 5001 });
  t.same(numbers.takeIn(new Transaction(), docker, { aux: 5001 }), { aux: 5002 });
  t.same(numbers.takeIn(new Transaction(), docker, {}), { aux: null });
  numbers.release(docker, { aux: 5001 });
  t.same(ports.reserved, [5000, 5002]);
  t.end();
});

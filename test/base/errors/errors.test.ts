import t from 'tap';
import { Refusal, refusals } from '../../../src/base/errors/errors.js';

/** Every refusal of the table, made with arguments that can be told apart. */
function all(): [string, Refusal][] {
  return Object.entries(refusals).map(([name, make]) => {
    const words = Array.from({ length: 5 }, (_, index) => `<${name}-${index}>`);
    return [name, (make as (...words: readonly string[]) => Refusal)(...words)];
  });
}

void t.test('every refusal has a status of an error and says something', (t) => {
  for (const [name, refusal] of all()) {
    t.ok(refusal instanceof Refusal, name);
    t.ok(Number.isInteger(refusal.status) && refusal.status >= 400 && refusal.status <= 599, name);
    t.ok(refusal.message.length > 5, name);
    t.notMatch(refusal.message, /undefined|\[object/, name);
  }
  t.end();
});

void t.test('no two refusals say the same', (t) => {
  const messages = all().map(([, refusal]) => `${refusal.status} ${refusal.message}`);
  t.equal(new Set(messages).size, messages.length);
  t.end();
});

void t.test('the words that clients match are those of the contract', (t) => {
  const words: readonly (readonly [Refusal, number, string])[] = [
    [refusals.portUsed(), 409, 'Port is already used'],
    [refusals.linkToItself(), 409, 'Cannot connect to itself'],
    [refusals.projectClosed(), 403, 'The project is not opened'],
    [refusals.projectUnknown('x'), 404, "Project ID x doesn't exist"],
    [refusals.nodeUnknown('x'), 404, "Node ID x doesn't exist"],
    [refusals.linkUnknown('x'), 404, "Link ID x doesn't exist"],
    [refusals.drawingUnknown('x'), 404, "Drawing ID x doesn't exist"],
    [refusals.projectExists('x'), 409, 'Project "x" already exists'],
    [refusals.fileMissing(), 404, '404: Not Found'],
    [refusals.switchConnected(), 409, "Can't modify a switch already connected."],
    [refusals.nodeLocked('x'), 409, 'Node x cannot be deleted because it is locked'],
  ];
  for (const [refusal, status, message] of words) t.match(refusal, { status, message });
  t.end();
});

void t.test('a full disk keeps its cause for the log', (t) => {
  const cause = new Error('ENOSPC');
  t.equal(refusals.diskFull(cause).cause, cause);
  t.end();
});

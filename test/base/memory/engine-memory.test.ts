import t from 'tap';
import { MOST_CONNECTIONS, MOST_PORTS, newEngineMemory } from '../../../src/base/memory/engine-memory.js';
import { ROW_LENGTH } from '../../../src/base/memory/port-counters.js';

void t.test('an engine has a row for each port, a counter for each connection, and all start at 0', (t) => {
  const memory = newEngineMemory(1000, 0);
  const rows = new Float64Array(memory.portCounters);
  t.equal(rows.length, MOST_PORTS * ROW_LENGTH);
  t.equal(rows.at(-1), 0);
  const connections = new Float64Array(memory.connectionCounters);
  t.equal(connections.length, MOST_CONNECTIONS);
  t.equal(connections.at(-1), 0);
  t.equal(memory.frames.byteLength, 1000);
  t.end();
});

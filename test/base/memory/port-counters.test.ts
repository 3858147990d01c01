import t from 'tap';
import { COUNTER, COUNTER_NAMES, DROP_CAUSES, ROW_LENGTH } from '../../../src/base/memory/port-counters.js';

void t.test('every counter has a place of its own in the row', (t) => {
  const places = COUNTER_NAMES.map((name) => COUNTER[name]);
  t.same(
    places,
    places.map((_, index) => index),
  );
  t.ok(places.length <= ROW_LENGTH);
  t.equal(Math.log2(ROW_LENGTH) % 1, 0, 'a row is found by a shift');
  t.end();
});

void t.test('only drops are among the causes of drops', (t) => {
  const others = COUNTER_NAMES.filter((name) => !DROP_CAUSES.includes(name));
  t.same(others, [
    'frames_in',
    'octets_in',
    'frames_out',
    'octets_out',
    'copies',
    'consumed',
    'originated',
    'bad_hec',
    'corrupted',
  ]);
  t.end();
});

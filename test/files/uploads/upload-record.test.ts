import t from 'tap';
import { parseRecord } from '../../../src/files/uploads/upload-request.js';
import { recordOf } from '../../support/upload-rig.js';

void t.test('a record is read as it was written; anything else is none', (t) => {
  const record = recordOf(5);
  t.same(parseRecord(JSON.stringify(record)), record);
  for (const other of [
    '',
    '{',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...record, size: -1 }),
    JSON.stringify({ ...record, upload_id: '../../etc/passwd' }),
    JSON.stringify({ ...record, target: { emulator: 'qemu' } }),
    JSON.stringify({ ...record, more: 1 }),
  ])
    t.equal(parseRecord(other), undefined, other);
  t.end();
});

import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { systemLibrary } from '../../../src/snapshots/archives/native-stream.js';

void t.test('a library that is missing is named with its package', (t) => {
  t.throws(
    () => systemLibrary('lzma', ['libnone.so.5', 'libnone.5.dylib'], 'libnone5'),
    refusals.libraryMissing('lzma', 'libnone', 'libnone5'),
  );
  t.end();
});

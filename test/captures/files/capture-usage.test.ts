import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { captureFileTasks } from '../../../src/captures/files/capture-file-tasks.js';
import { scratchFolder } from '../../support/scratch.js';

void t.test('the room of files is counted, except of those that are named', (t) => {
  const folder = scratchFolder(t);
  const measure = (except: readonly string[] = []): number =>
    captureFileTasks.measureUsage({ folder, except });
  t.equal(measure(), 0);
  writeFileSync(join(folder, 'a.pcap'), Buffer.alloc(1000));
  writeFileSync(join(folder, 'b.pcap'), Buffer.alloc(24));
  mkdirSync(join(folder, 'c'));
  writeFileSync(join(folder, 'c', 'd'), Buffer.alloc(5000));
  symlinkSync(join(folder, 'a.pcap'), join(folder, 'e'));
  t.equal(measure(), 1024);
  t.equal(measure(['a.pcap', 'never']), 24);
  t.end();
});

void t.test('a folder that is not there takes nothing', (t) => {
  const folder = join(scratchFolder(t), 'never');
  t.equal(captureFileTasks.measureUsage({ folder, except: [] }), 0);
  writeFileSync(folder, 'a file of that name');
  t.equal(captureFileTasks.measureUsage({ folder, except: [] }), 0);
  t.end();
});

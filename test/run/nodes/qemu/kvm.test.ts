import t from 'tap';
import { kvmOf, kvmPlatforms } from '../../../../src/run/nodes/qemu/kvm.js';

const [own = 'none'] = kvmPlatforms();

void t.test('guests run by KVM where it works and nobody has said otherwise', (t) => {
  const question = { setting: 'auto', fault: undefined, platform: own, options: '' } as const;
  t.equal(kvmOf(question), true);
  t.equal(kvmOf({ ...question, fault: 'it is broken' }), false);
  t.equal(kvmOf({ ...question, setting: 'off' }), false);
  t.equal(kvmOf({ ...question, platform: 'sh4' }), false);
  for (const options of [
    '-machine accel=tcg',
    '-M pc,accel=tcg,usb=on',
    '-accel tcg',
    '-accel  tcg,tb-size=32',
  ])
    t.equal(kvmOf({ ...question, options }), false, options);
  t.equal(kvmOf({ ...question, options: '-machine accel=kvm -name tcg' }), true);
  t.end();
});

void t.test('a server that requires KVM emulates only what KVM cannot run', (t) => {
  const question = { setting: 'require', fault: 'it is broken', platform: own, options: '' } as const;
  t.same(kvmOf(question), { why: 'KVM is required, and it is broken' });
  t.equal(kvmOf({ ...question, platform: 'sh4' }), false);
  t.equal(kvmOf({ ...question, options: '-accel tcg' }), false);
  t.equal(kvmOf({ ...question, fault: undefined }), true);
  t.end();
});

void t.test('each kind of processor runs guests of its own platforms', (t) => {
  t.same(kvmPlatforms('x64'), ['x86_64', 'i386']);
  t.same(kvmPlatforms('arm64'), ['aarch64']);
  t.same(kvmPlatforms('mips'), []);
  t.end();
});

import t from 'tap';
import { newBpfTasks } from '../../../src/engine/bpf/bpf-tasks.js';
import { matcherOf } from '../../../src/engine/wire/bpf.js';
import { libpcapLack } from '../../support/libpcap.js';

void t.test('an expression becomes a program that runs', { skip: libpcapLack() }, (t) => {
  const tasks = newBpfTasks();
  t.equal(tasks.hasLibpcap(undefined), true);
  const matches = matcherOf(tasks.compileBpf({ expression: 'ether[0] = 7', linkType: 1 }));
  t.ok(matches(Uint8Array.of(7), 0, 1));
  t.notOk(matches(Uint8Array.of(8), 0, 1));
  t.throws(() => tasks.compileBpf({ expression: 'ether[', linkType: 1 }), {
    status: 400,
    message: "Invalid BPF expression 'ether[': syntax error",
  });
  t.end();
});

void t.test('without libpcap an expression is refused with the package to install', (t) => {
  const tasks = newBpfTasks(['libpcap-not-there.so']);
  t.equal(tasks.hasLibpcap(undefined), false);
  t.throws(() => tasks.compileBpf({ expression: 'tcp', linkType: 1 }), {
    name: 'Refusal',
    status: 409,
    message:
      /libpcap, which is not on this host: install it \(on Debian and Ubuntu, the package libpcap0\.8\)/,
  });
  t.end();
});

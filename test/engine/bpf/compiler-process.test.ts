/** The process of libpcap, as the job thread starts it. */
import t from 'tap';
import { CompilerProcess } from '../../../src/engine/bpf/compiler-process.js';
import { matcherOf } from '../../../src/engine/wire/bpf.js';
import { libpcapLack } from '../../support/libpcap.js';

const { tasks } = new CompilerProcess(new URL('../../../workers/compiler-worker.js', import.meta.url));
const skip = libpcapLack();
/** Takes libpcap much more than its budget. */
const TOO_LONG = Array.from(
  { length: 90 },
  (_, index) => `portrange ${index * 9 + 1}-${index * 9 + 5} and not host 1.2.3.${index}`,
).join(' or ');

void t.test(
  'the process compiles, and is there again when it was ended for an expression',
  { skip },
  async (t) => {
    t.equal(await tasks.hasLibpcap(undefined), true);
    const program = await tasks.compileBpf({ expression: 'ether[0] = 7', linkType: 1 });
    t.ok(matcherOf(program)(Uint8Array.of(7), 0, 1));
    const refused = { name: 'Refusal', status: 400, message: /takes too long to compile, make it simpler/ };
    await t.rejects(Promise.resolve(tasks.compileBpf({ expression: TOO_LONG, linkType: 1 })), refused);
    const again = await tasks.compileBpf({ expression: 'ether[0] = 8', linkType: 1 });
    t.ok(matcherOf(again)(Uint8Array.of(8), 0, 1));
  },
);

void t.test(
  'names are not looked up on a network',
  { skip: skip || process.platform !== 'linux' },
  async (t) => {
    await t.rejects(
      Promise.resolve(tasks.compileBpf({ expression: 'host some.name.example', linkType: 1 })),
      { name: 'Refusal', status: 400, message: /unknown host .*give the address/ },
    );
    t.ok(await tasks.compileBpf({ expression: 'tcp port 80', linkType: 1 }));
  },
);

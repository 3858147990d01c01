/** The telnet client in front of the consoles of programs that are telnet servers. */
import t from 'tap';
import { TelnetClientProtocol } from '../../../src/run/consoles/telnet-client.js';

void t.test('echo and no go-aheads are agreed to, all else is refused, whatever the pieces', (t) => {
  // As Dynamips begins: DO TTYPE, WILL ECHO, WILL SGA, DONT LINEMODE; then text with a doubled 255 and parameters.
  const bytes = Buffer.from('fffd18fffb01fffb03fffe22686920ffff21fffa1801fffff07a', 'hex');
  for (let size = 1; size <= bytes.length; size++) {
    const protocol = new TelnetClientProtocol();
    const printed: Buffer[] = [];
    const answers: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const received = protocol.receive(bytes.subarray(at, at + size));
      printed.push(Buffer.from(received.printed));
      answers.push(Buffer.from(received.answer));
    }
    t.equal(Buffer.concat(printed).toString('hex'), '686920ff21', `pieces of ${size}`);
    t.equal(Buffer.concat(answers).toString('hex'), 'fffc18fffd01fffd03');
  }
  t.end();
});

void t.test('a server that proposes for ever is answered a hundred times', (t) => {
  const { answer } = new TelnetClientProtocol().receive(Buffer.from('fffd18'.repeat(1000), 'hex'));
  t.equal(answer.length, 300);
  t.end();
});

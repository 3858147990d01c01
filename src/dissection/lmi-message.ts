/** Local management of Frame Relay in three dialects: ANSI T1.617, Q.933, and that of Cisco. */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const MESSAGES: Readonly<Record<number, string>> = { 0x75: 'status enquiry', 0x7d: 'status', 0x7b: 'update' };
const REPORTS: Readonly<Record<number, string>> = { 0: 'full status', 1: 'link integrity', 2: 'one PVC' };
/** The shift to the codes of a nation, which ANSI's dialect begins with. */
const SHIFT = 0x95;
const REPORT = [0x01, 0x51];
const SEQUENCE = [0x03, 0x53];
const PVC = [0x07, 0x57];
const CISCO = 'lmi';
const NEW = 0x08;
const ACTIVE = 0x02;

export const Q933 = dialect('q933');
export const CISCO_LMI = dialect(CISCO);

function dialect(prefix: string): Protocol {
  return {
    name: 'LMI',
    title: 'Local management',
    classify(numbers) {
      numbers.go(numbers.end - numbers.at, NOTHING);
    },
    describe(d) {
      d.number(`${prefix}.call_ref`, 'Call reference', d.at, 1);
      const id = prefix === CISCO ? 'lmi.msg_type' : 'q933.message_type';
      const message = d.number(id, 'Message', d.at + 1, 1, MESSAGES);
      let at = d.at + 2;
      let form = prefix === CISCO ? 'Cisco' : 'Q.933';
      if (prefix !== CISCO && d.octet(at) === SHIFT) {
        d.number('q933.shift', 'Shift', at, 1, { [SHIFT]: 'ANSI' });
        form = 'ANSI';
        at++;
      }
      d.say(`${form} ${MESSAGES[message] ?? `message ${message}`}${elements(d, at, prefix)}`);
      d.go(d.end, NOTHING);
    },
  };
}

function elements(d: Description, from: number, prefix: string): string {
  let text = '';
  let pvcs = 0;
  let at = from;
  while (d.has(at, 2)) {
    const kind = d.number(`${prefix}.element`, 'Element', at, 1);
    const length = d.octet(at + 1);
    const value = at + 2;
    if (REPORT.includes(kind)) {
      const id = prefix === CISCO ? 'lmi.ele_rcd_type' : 'q933.report_type';
      const report = d.number(id, 'Report', value, 1, REPORTS);
      text += `, ${REPORTS[report] ?? `report ${report}`}`;
    } else if (SEQUENCE.includes(kind)) {
      const ids =
        prefix === CISCO
          ? ['lmi.send_seq', 'lmi.recv_seq']
          : ['q933.link_verification.txseq', 'q933.link_verification.rxseq'];
      const sent = d.number(ids[0] ?? '', 'Sent', value, 1);
      text += `, sent ${sent}, seen ${d.number(ids[1] ?? '', 'Received', value + 1, 1)}`;
    } else if (PVC.includes(kind)) {
      pvcs++;
      pvc(d, value, prefix === CISCO, length);
    } else if (length > 0) d.rest(`${prefix}.content`, 'Content', value, length);
    at = value + length;
  }
  return pvcs === 0 ? text : `${text}, ${pvcs} ${pvcs === 1 ? 'PVC' : 'PVCs'}`;
}

function pvc(d: Description, at: number, isCisco: boolean, length: number): void {
  const dlci = isCisco ? d.pair(at) : ((d.octet(at) & 0x3f) << 4) | ((d.octet(at + 1) & 0x78) >>> 3);
  const status = d.octet(at + 2);
  const words = [(status & ACTIVE) === 0 ? 'inactive' : 'active', ...((status & NEW) === 0 ? [] : ['new'])];
  d.note('lmi.pvc', 'PVC', at, length, dlci, `DLCI ${dlci} ${words.join(', ')}`);
}

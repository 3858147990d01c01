/**
 * The local management interface of Frame Relay, by which a router asks its network for the status of the link and of
 * the PVCs: status enquiries are read, status messages are written. Three dialects encode the same content.
 */

/** ANSI T1.617 Annex D, ITU-T Q.933 Annex A, and the older one of Cisco and three other vendors. */
export type LmiDialect = 'ansi' | 'q933a' | 'cisco';

const STANDARD_DLCI = 0;
const CISCO_DLCI = 1023;

/** The type of report. A network answers with the type that was asked for. */
export const FULL_STATUS = 0;
export const LINK_INTEGRITY = 1;

export interface StatusEnquiry {
  readonly dialect: LmiDialect;
  readonly report: number;
  readonly sendSequence: number;
  readonly receiveSequence: number;
}

export interface PvcStatus {
  readonly dlci: number;
  readonly isNew: boolean;
  readonly isActive: boolean;
}

export interface StatusAnswer extends StatusEnquiry {
  readonly pvcs: readonly PvcStatus[];
}

interface Form {
  /** The first octets: the address, unnumbered information, the protocol and a call reference of 0. */
  readonly head: readonly number[];
  /** The octets between the message type and the elements. */
  readonly shift: readonly number[];
  readonly reportElement: number;
  readonly sequenceElement: number;
  readonly pvcElement: number;
  readonly pvcLength: number;
  readonly pvcOctets: (pvc: PvcStatus) => readonly number[];
}

const ENQUIRY_MESSAGE = 0x75;
const STATUS_MESSAGE = 0x7d;
const REPORT_LENGTH = 1;
const SEQUENCE_LENGTH = 2;
/** Every element begins with its identifier and its length. */
const ELEMENT_HEAD = 2;
const REPORT_SIZE = ELEMENT_HEAD + REPORT_LENGTH;
const SEQUENCE_SIZE = ELEMENT_HEAD + SEQUENCE_LENGTH;

const NEW = 0x08;
const ACTIVE = 0x02;
const LAST_OCTET = 0x80;

const FORMS: Readonly<Record<LmiDialect, Form>> = {
  ansi: {
    head: [0x00, 0x01, 0x03, 0x08, 0x00],
    shift: [0x95],
    reportElement: 0x01,
    sequenceElement: 0x03,
    pvcElement: 0x07,
    pvcLength: 3,
    pvcOctets: standardPvc,
  },
  q933a: {
    head: [0x00, 0x01, 0x03, 0x08, 0x00],
    shift: [],
    reportElement: 0x51,
    sequenceElement: 0x53,
    pvcElement: 0x57,
    pvcLength: 3,
    pvcOctets: standardPvc,
  },
  cisco: {
    head: [0xfc, 0xf1, 0x03, 0x09, 0x00],
    shift: [],
    reportElement: 0x01,
    sequenceElement: 0x03,
    pvcElement: 0x07,
    pvcLength: 6,
    pvcOctets: ciscoPvc,
  },
};
const DIALECTS: readonly LmiDialect[] = ['ansi', 'q933a', 'cisco'];

/** Whether a DLCI is used for enquiries. */
export function isLmiDlci(dlci: number): boolean {
  return dlci === STANDARD_DLCI || dlci === CISCO_DLCI;
}

/**
 * Parses an enquiry; undefined when the frame is anything else, or asks for another type of report. The two elements may
 * come in either order; none may be missing, repeated or added.
 */
export function parseEnquiry(bytes: Uint8Array, offset: number, length: number): StatusEnquiry | undefined {
  const frame = bytes.subarray(offset, offset + length);
  for (const dialect of DIALECTS) {
    const enquiry = parseAs(dialect, frame);
    if (enquiry !== undefined) return enquiry;
  }
  return undefined;
}

/** The length of an answer with this many PVCs. */
export function answerLength(dialect: LmiDialect, pvcs: number): number {
  const { head, shift, pvcLength } = FORMS[dialect];
  const fixed = head.length + 1 + shift.length + REPORT_SIZE + SEQUENCE_SIZE;
  return fixed + pvcs * (ELEMENT_HEAD + pvcLength);
}

/** Writes the status message. The caller makes sure that there is room for `answerLength` octets. */
export function writeAnswer(bytes: Uint8Array, offset: number, answer: StatusAnswer): void {
  const form = FORMS[answer.dialect];
  let next = offset;
  const write = (octets: readonly number[]): void => {
    for (const octet of octets) bytes[next++] = octet;
  };
  write(form.head);
  write([STATUS_MESSAGE, ...form.shift]);
  write([form.reportElement, REPORT_LENGTH, answer.report]);
  write([form.sequenceElement, SEQUENCE_LENGTH, answer.sendSequence, answer.receiveSequence]);
  for (const pvc of answer.pvcs) {
    write([form.pvcElement, form.pvcLength]);
    write(form.pvcOctets(pvc));
  }
}

function parseAs(dialect: LmiDialect, frame: Uint8Array): StatusEnquiry | undefined {
  const { head, shift, reportElement, sequenceElement } = FORMS[dialect];
  if (frame.length !== answerLength(dialect, 0)) return undefined;
  const start = [...head, ENQUIRY_MESSAGE, ...shift];
  if (!startsWith(frame, 0, start)) return undefined;
  const isReportFirst = frame[start.length] === reportElement;
  const report = isReportFirst ? start.length : start.length + SEQUENCE_SIZE;
  const sequence = isReportFirst ? start.length + REPORT_SIZE : start.length;
  if (!startsWith(frame, report, [reportElement, REPORT_LENGTH])) return undefined;
  if (!startsWith(frame, sequence, [sequenceElement, SEQUENCE_LENGTH])) return undefined;
  const wanted = frame[report + ELEMENT_HEAD];
  if (wanted !== FULL_STATUS && wanted !== LINK_INTEGRITY) return undefined;
  return {
    dialect,
    report: wanted,
    sendSequence: frame[sequence + ELEMENT_HEAD] ?? 0,
    receiveSequence: frame[sequence + ELEMENT_HEAD + 1] ?? 0,
  };
}

function startsWith(frame: Uint8Array, at: number, octets: readonly number[]): boolean {
  return octets.every((octet, index) => frame[at + index] === octet);
}

function standardPvc({ dlci, isNew, isActive }: PvcStatus): readonly number[] {
  return [dlci >>> 4, LAST_OCTET | ((dlci & 0xf) << 3), LAST_OCTET | statusOf(isNew, isActive)];
}

/** The three octets at the end are the bandwidth, which is unknown. */
function ciscoPvc({ dlci, isNew, isActive }: PvcStatus): readonly number[] {
  return [dlci >>> 8, dlci & 0xff, statusOf(isNew, isActive), 0, 0, 0];
}

function statusOf(isNew: boolean, isActive: boolean): number {
  return (isNew ? NEW : 0) | (isActive ? ACTIVE : 0);
}

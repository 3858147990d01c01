/**
 * An image that the real Dynamips boots as a c3600 with the chassis 3640: a program of a few instructions that prints a
 * text on the console and echoes what is typed. It stands for IOS, which nobody may pass on.
 */
import { spawnSync } from 'node:child_process';

/** The address of the code of an image. */
export const IMAGE_START = 0x8000_8000;
const TEXT_AT = 0x100;
const HEADER = 52;
const SECTION_HEADER = 40;

/** Points to the UART, to the text and to the loop. */
const SET_UP = [0x3c08be84, 0x3c098000, 0x35298100, 0x3c0b8000, 0x356b802c];
const PRINT = [0x912a0000, 0x11400004, 0, 0xa10a0000, 0x1000fffb, 0x25290001];
const ECHO = [0x910a0028, 0x314a0001, 0x11400003, 0, 0x910a0000, 0xa10a0000];
/** A jump by register: at one, Dynamips looks whether the router shall stop. */
const AGAIN = [0x01600008, 0];
/** A jump within a page of translated code: such a router never stops. */
const AGAIN_FOR_EVER = [0x1000fff9, 0];

export function missingDynamips(): string | false {
  return spawnSync('which', ['dynamips']).status === 0
    ? false
    : 'the program dynamips is missing: install the package dynamips of Debian non-free';
}

/** The bytes of an image that prints the text; unless `stops`, only SIGKILL ends its router. */
export function routerImage(text: string, stops = true): Buffer {
  const code = Buffer.alloc(TEXT_AT + 64);
  for (const [index, word] of [...SET_UP, ...PRINT, ...ECHO, ...(stops ? AGAIN : AGAIN_FOR_EVER)].entries())
    code.writeUInt32BE(word, 4 * index);
  code.write(`${text}\0`, TEXT_AT, 'latin1');
  return bootImage(code);
}

/** An image of this code. */
export function bootImage(code: Buffer): Buffer {
  const names = Buffer.from('\0.text\0.shstrtab\0\0\0\0');
  const namesAt = HEADER + code.length;
  const sectionsAt = namesAt + names.length;
  const header = Buffer.alloc(HEADER);
  Buffer.from('7f454c46010201', 'hex').copy(header);
  const [executable, mips, version, sections] = [2, 8, 1, 3];
  header.writeUInt16BE(executable, 16);
  header.writeUInt16BE(mips, 18);
  header.writeUInt32BE(version, 20);
  header.writeUInt32BE(IMAGE_START, 24);
  header.writeUInt32BE(sectionsAt, 32);
  header.writeUInt16BE(HEADER, 40);
  header.writeUInt16BE(SECTION_HEADER, 46);
  header.writeUInt16BE(sections, 48);
  header.writeUInt16BE(sections - 1, 50);
  // Name, type, flags (allocated, executable), address, offset, size, link, info, alignment, size of entries.
  const none = sectionHeader([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const textSection = sectionHeader([1, 1, 6, IMAGE_START, HEADER, code.length, 0, 0, 4, 0]);
  const nameSection = sectionHeader([7, 3, 0, 0, namesAt, names.length, 0, 0, 1, 0]);
  return Buffer.concat([header, code, names, none, textSection, nameSection]);
}

function sectionHeader(fields: readonly number[]): Buffer {
  const header = Buffer.alloc(SECTION_HEADER);
  for (const [index, field] of fields.entries()) header.writeUInt32BE(field, 4 * index);
  return header;
}

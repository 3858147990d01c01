/** Runs BPF programs on ATM cells: they see a cell as a frame of link type SUNATM, VPI and VCI before the payload. */
import { CELL_LENGTH } from './atm-cell.js';
import type { Matcher } from './bpf.js';

const HEADER_LENGTH = 5;
const PICTURE = { traffic: 0, vpi: 1, vci: 2, payload: 4 } as const;
const PICTURE_LENGTH = PICTURE.payload + CELL_LENGTH - HEADER_LENGTH;

/** Frames that are not cells do not match. */
export function cellMatcher(matches: Matcher): Matcher {
  const picture = new Uint8Array(PICTURE_LENGTH);
  return (bytes, offset, length) => {
    if (length !== CELL_LENGTH) return false;
    const second = bytes[offset + 1] ?? 0;
    const third = bytes[offset + 2] ?? 0;
    // The cell has 12 bits of VPI, of which the picture has 8, and 16 bits of VCI.
    picture[PICTURE.vpi] = ((bytes[offset] ?? 0) << 4) | (second >>> 4);
    picture[PICTURE.vci] = (second << 4) | (third >>> 4);
    picture[PICTURE.vci + 1] = (third << 4) | ((bytes[offset + 3] ?? 0) >>> 4);
    for (let index = HEADER_LENGTH; index < CELL_LENGTH; index++) {
      picture[PICTURE.payload + index - HEADER_LENGTH] = bytes[offset + index] ?? 0;
    }
    return matches(picture, 0, PICTURE_LENGTH);
  };
}

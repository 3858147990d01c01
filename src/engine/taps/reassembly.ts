/**
 * Reassembles AAL5 frames from the cells of both directions of a port, by VPI and VCI. The number of connections is
 * limited: a new connection replaces an idle one (between two frames), or one whose frame has been stuck for long. When
 * there is neither, the frames of the new connection are given up, so that frames under way are not disturbed.
 */
import { AAL5_FAULT, AAL5_MOST_CELLS, aal5Faults, aal5Length, CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { CELL_LENGTH } from '../wire/atm-cell.js';
import { crc32, CRC32_START } from '../wire/crc32.js';
import { SUN_ATM_LENGTH } from '../wire/sun-atm.js';
import type { Batch } from '../forwarding/port.js';
import type { Aal5Memory, Aal5Piece } from './aal5-memory.js';
import { copyBytes } from './byte-span.js';

const MOST_CONNECTIONS = 256;
const STALE_SECONDS = 10;
/** Bits of a cell header: the cell is the last of a frame; the cell does not carry user data. */
const LAST = 1 << 1;
const NO_USER = 4 << 1;
/** Channels of every path that carry no user data: idle cells, and maintenance of the path (I.361). */
const IDLE_VCI = 0;
const SEGMENT_VCI = 3;
const END_TO_END_VCI = 4;

interface Connection {
  key: number;
  /** Undefined between frames. */
  piece: Aal5Piece | undefined;
  cells: number;
  lastAt: number;
}

export class Reassembly {
  /** The frame completed last, behind room for a header. Valid until the next cell of any tap. */
  piece: Aal5Piece | undefined;
  /** The length of that frame: without padding and trailer when it is correct, else of all its cells. */
  length = 0;
  faults = 0;
  /** The number of frames that were given up. */
  givenUp = 0;
  readonly #memory: Aal5Memory;
  readonly #byKey = new Map<number, Connection>();
  readonly #connections: Connection[] = [];
  #last: Connection | undefined;
  #hand = 0;
  #searchedAt = -1;

  constructor(memory: Aal5Memory) {
    this.#memory = memory;
  }

  /**
   * The fast path: takes cells from `index` on as long as they continue the frame of the previous cell, without ending
   * it or filling its piece. Returns the index of the first cell that does not. Most cells only need to be copied.
   */
  goOn(
    view: DataView,
    { offsets, lengths, count }: Batch,
    index: number,
    isOut: boolean,
    now: number,
  ): number {
    const connection = this.#last;
    const piece = connection?.piece;
    if (connection === undefined || piece === undefined) return index;
    const { key } = connection;
    const to = piece.view;
    const most = piece.cells - 1;
    let { cells } = connection;
    let next = index;
    for (; next < count && cells < most && lengths[next] === CELL_LENGTH; next++) {
      const offset = offsets[next] ?? 0;
      const header = view.getInt32(offset);
      if (keyOf(header, isOut) !== key || (header & (LAST | NO_USER)) !== 0) break;
      copyPayload(view, offset, to, cells);
      cells++;
    }
    if (next > index) connection.lastAt = now;
    connection.cells = cells;
    return next;
  }

  /** Takes one cell; `now` is in whole seconds. True when its frame is complete, or has reached the longest length. */
  take(view: DataView, offset: number, isOut: boolean, now: number): boolean {
    const header = view.getInt32(offset);
    if ((header & NO_USER) !== 0 || !carriesUserData((header >>> 4) & 0xffff)) return false;
    const isLast = (header & LAST) !== 0;
    const connection = this.#find(keyOf(header, isOut), now);
    const piece = connection === undefined ? undefined : this.#pieceFor(connection);
    if (connection === undefined || piece === undefined) {
      // A frame is counted once, at its last cell.
      if (isLast) this.givenUp++;
      return false;
    }
    copyPayload(view, offset, piece.view, connection.cells);
    connection.cells++;
    connection.lastAt = now;
    if (!isLast && connection.cells < AAL5_MOST_CELLS) return false;
    this.#finish(connection, piece, isLast);
    return true;
  }

  close(): void {
    for (const connection of this.#connections) this.#leaveFrame(connection);
  }

  #find(key: number, now: number): Connection | undefined {
    if (this.#last?.key === key) return this.#last;
    const connection = this.#byKey.get(key) ?? this.#admit(key, now);
    if (connection !== undefined) this.#last = connection;
    return connection;
  }

  #admit(key: number, now: number): Connection | undefined {
    const connection = this.#vacancy(now);
    if (connection === undefined) return undefined;
    this.#byKey.delete(connection.key);
    connection.key = key;
    this.#byKey.set(key, connection);
    return connection;
  }

  #vacancy(now: number): Connection | undefined {
    const connections = this.#connections;
    if (connections.length < MOST_CONNECTIONS) {
      const connection = { key: -1, piece: undefined, cells: 0, lastAt: now };
      connections.push(connection);
      return connection;
    }
    // When all are busy, one search per second is enough.
    if (now === this.#searchedAt) return undefined;
    for (let looked = 0; looked < MOST_CONNECTIONS; looked++) {
      this.#hand = (this.#hand + 1) % MOST_CONNECTIONS;
      const connection = connections[this.#hand];
      if (connection === undefined) continue;
      const isStale = now - connection.lastAt > STALE_SECONDS;
      if (connection.piece !== undefined && !isStale) continue;
      if (connection.piece !== undefined) this.givenUp++;
      this.#leaveFrame(connection);
      return connection;
    }
    this.#searchedAt = now;
    return undefined;
  }

  /** A piece with room for one more cell; undefined when there is no memory, and the frame is given up. */
  #pieceFor(connection: Connection): Aal5Piece | undefined {
    const { piece, cells } = connection;
    if (piece !== undefined && cells < piece.cells) return piece;
    const larger = this.#memory.take(cells + 1);
    if (larger === undefined) {
      this.#leaveFrame(connection);
      return undefined;
    }
    if (piece !== undefined) {
      copyBytes(piece.view, 0, larger.view, 0, piece.bytes.length);
      this.#memory.giveBack(piece);
    }
    connection.piece = larger;
    return larger;
  }

  #finish(connection: Connection, piece: Aal5Piece, hasEnd: boolean): void {
    const { cells } = connection;
    this.length = cells * CELL_PAYLOAD_LENGTH;
    if (hasEnd) {
      const length = aal5Length(piece.view, SUN_ATM_LENGTH + this.length);
      // One CRC over all cells is cheaper than one step per cell.
      const crc = crc32(CRC32_START, piece.view, SUN_ATM_LENGTH, this.length);
      this.faults = aal5Faults(crc, cells, length);
      if (this.faults === 0) this.length = length;
    } else this.faults = AAL5_FAULT.tooLong;
    this.piece = piece;
    this.#leaveFrame(connection);
  }

  #leaveFrame(connection: Connection): void {
    if (connection.piece !== undefined) this.#memory.giveBack(connection.piece);
    connection.piece = undefined;
    connection.cells = 0;
  }
}

function carriesUserData(vci: number): boolean {
  return vci !== IDLE_VCI && vci !== SEGMENT_VCI && vci !== END_TO_END_VCI;
}

function keyOf(header: number, isOut: boolean): number {
  return ((header >>> 4) << 1) | (isOut ? 1 : 0);
}

function copyPayload(view: DataView, cell: number, to: DataView, cells: number): void {
  const payload = cell + CELL_LENGTH - CELL_PAYLOAD_LENGTH;
  copyBytes(view, payload, to, SUN_ATM_LENGTH + cells * CELL_PAYLOAD_LENGTH, CELL_PAYLOAD_LENGTH);
}

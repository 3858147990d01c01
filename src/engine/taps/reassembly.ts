/**
 * Puts AAL5 frames together from the cells of both directions of a port, by VPI and VCI. A limited number of
 * connections is known at a time. A new one takes the place of one between two frames, or of one whose frame has not
 * gone on for long; when there is none its frames are given up, and those that are under way are not disturbed.
 */
import { AAL5_FAULT, AAL5_MOST_CELLS, aal5Faults, aal5Length, CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { CELL_LENGTH } from '../wire/atm-cell.js';
import { crc32, CRC32_START } from '../wire/crc32.js';
import { SUN_ATM_LENGTH } from '../wire/sun-atm.js';
import type { Batch } from '../forwarding/batch.js';
import type { Aal5Memory, Aal5Piece } from './aal5-memory.js';
import { copyOctets } from './octets.js';

const MOST_CONNECTIONS = 256;
const STALE_SECONDS = 10;
/** Of a header: the last cell of a frame, and no user's cell. */
const LAST = 1 << 1;
const NO_USER = 4 << 1;
/** Channels of every path that carry no user's cells: idle cells, and maintenance of the path (I.361). */
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
  /** The frame that has come last, behind room for a header: valid until the next cell of any tap. */
  piece: Aal5Piece | undefined;
  /** Of that frame: without padding and trailer when nothing is wrong with it, else all that came. */
  length = 0;
  faults = 0;
  /** Frames that were given up. */
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
   * Takes the cells from the one at `index` on that go on with the frame of the cell before, without ending it or
   * filling its piece; returns where others follow. Most cells are of this kind, and need only be copied.
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

  /** Takes a cell at a time in whole seconds; true when its frame is complete, or as long as it may become. */
  take(view: DataView, offset: number, isOut: boolean, now: number): boolean {
    const header = view.getInt32(offset);
    if ((header & NO_USER) !== 0 || !isUsersVci((header >>> 4) & 0xffff)) return false;
    const isLast = (header & LAST) !== 0;
    const connection = this.#find(keyOf(header, isOut), now);
    const piece = connection === undefined ? undefined : this.#pieceFor(connection);
    if (connection === undefined || piece === undefined) {
      // Counted once, with its end.
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
    // Once a second is enough when all are busy.
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

  /** Has room for one more cell. */
  #pieceFor(connection: Connection): Aal5Piece | undefined {
    const { piece, cells } = connection;
    if (piece !== undefined && cells < piece.cells) return piece;
    const larger = this.#memory.take(cells + 1);
    if (larger === undefined) {
      this.#leaveFrame(connection);
      return undefined;
    }
    if (piece !== undefined) {
      copyOctets(piece.view, 0, larger.view, 0, piece.bytes.length);
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
      // Of all cells at once: that is cheaper than cell by cell.
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

function isUsersVci(vci: number): boolean {
  return vci !== IDLE_VCI && vci !== SEGMENT_VCI && vci !== END_TO_END_VCI;
}

function keyOf(header: number, isOut: boolean): number {
  return ((header >>> 4) << 1) | (isOut ? 1 : 0);
}

function copyPayload(view: DataView, cell: number, to: DataView, cells: number): void {
  const payload = cell + CELL_LENGTH - CELL_PAYLOAD_LENGTH;
  copyOctets(view, payload, to, SUN_ATM_LENGTH + cells * CELL_PAYLOAD_LENGTH, CELL_PAYLOAD_LENGTH);
}

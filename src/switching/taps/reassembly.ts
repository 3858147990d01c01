/**
 * Puts AAL5 frames together from the cells of both directions of a port, by VPI and VCI. A limited number of
 * connections is known at a time. A new one takes the place of one between two frames, or of one whose frame has not
 * gone on for long; when there is none its frames are given up, and those that are under way are not disturbed.
 */
import { AAL5_FAULT, AAL5_MOST_CELLS, aal5Faults, aal5Length, CELL_PAYLOAD_LENGTH } from '../../wire/aal5.js';
import { CELL_LENGTH } from '../../wire/atm-cell.js';
import { crc32, CRC32_START } from '../../wire/crc32.js';
import { SUN_ATM_LENGTH } from '../../wire/sun-atm.js';
import type { Aal5Memory, Aal5Piece } from './aal5-memory.js';
import { copyOctets } from './octets.js';

const MOST_CONNECTIONS = 256;
const STALE_SECONDS = 10;
/** Of a payload type: the last cell of a frame, and no user's cell. */
const LAST = 1;
const NO_USER = 4;
/** Channels of every path that carry no user's cells: idle cells, and maintenance of the path (I.361). */
const NO_USER_VCIS: readonly number[] = [0, 3, 4];

interface Connection {
  key: number;
  /** Undefined between frames. */
  piece: Aal5Piece | undefined;
  cells: number;
  crc: number;
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

  /** Takes a cell at a time in whole seconds; true when its frame is complete, or as long as it may become. */
  take(view: DataView, offset: number, isOut: boolean, now: number): boolean {
    const header = view.getInt32(offset);
    const payloadType = (header >>> 1) & 7;
    if (payloadType >= NO_USER || NO_USER_VCIS.includes((header >>> 4) & 0xffff)) return false;
    const isLast = (payloadType & LAST) !== 0;
    const connection = this.#find(((header >>> 4) << 1) | (isOut ? 1 : 0), now);
    const piece = connection === undefined ? undefined : this.#pieceFor(connection);
    if (connection === undefined || piece === undefined) {
      // Counted once, with its end.
      if (isLast) this.givenUp++;
      return false;
    }
    const payload = offset + CELL_LENGTH - CELL_PAYLOAD_LENGTH;
    const end = SUN_ATM_LENGTH + connection.cells * CELL_PAYLOAD_LENGTH;
    copyOctets(view, payload, piece.view, end, CELL_PAYLOAD_LENGTH);
    connection.crc = crc32(connection.crc, view, payload, CELL_PAYLOAD_LENGTH);
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
      const connection = { key: -1, piece: undefined, cells: 0, crc: CRC32_START, lastAt: now };
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
    const { cells, crc } = connection;
    this.length = cells * CELL_PAYLOAD_LENGTH;
    if (hasEnd) {
      const length = aal5Length(piece.view, SUN_ATM_LENGTH + this.length);
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
    connection.crc = CRC32_START;
  }
}

/** The messages between the packets page and its worker. */
import type { PacketLayer } from '../../dissection/packet-field.js';

/** Each question has an id, which its answer brings back. */
export type PacketOrder =
  | { readonly do: 'open'; readonly url: string; readonly links: readonly LinkName[] }
  | { readonly do: 'close' }
  | { readonly do: 'filter'; readonly text: string }
  /** Chooses the rows that come with each state: from a place on, or the last ones. */
  | { readonly do: 'look'; readonly from: number | undefined; readonly count: number }
  | { readonly do: 'rows'; readonly id: number; readonly from: number; readonly count: number }
  | { readonly do: 'details'; readonly id: number; readonly number: number }
  | { readonly do: 'save'; readonly id: number; readonly isFiltered: boolean };

/** The name of a link by its id, which the descriptions of interfaces have. */
export interface LinkName {
  readonly id: string;
  readonly name: string;
}

export type PacketReport =
  | PacketState
  | { readonly is: 'filter'; readonly text: string; readonly wrong: FilterFault | undefined }
  | { readonly is: 'rows'; readonly id: number; readonly from: number; readonly rows: readonly PacketRow[] }
  | { readonly is: 'details'; readonly id: number; readonly details: PacketDetails | undefined }
  | { readonly is: 'saved'; readonly id: number; readonly packets: number; readonly file: Blob };

interface FilterFault {
  readonly at: number;
  readonly message: string;
}

export interface PacketState {
  readonly is: 'state';
  readonly stream: 'closed' | 'connecting' | 'live' | 'lost';
  /** Packets that came since the opening, and those that are held. */
  readonly received: number;
  readonly held: number;
  readonly heldOctets: number;
  /** The places of shown packets: of the oldest, and behind the newest. */
  readonly first: number;
  readonly end: number;
  /** The share of the held packets that the filter has seen. */
  readonly progress: number;
  /** Packets that the server says it has lost. */
  readonly lost: number;
  /** The rows that the page looks at. */
  readonly rows: readonly PacketRow[];
  /** Seconds between the oldest and the newest packet that are held. */
  readonly seconds: number;
}

export interface PacketRow {
  readonly place: number;
  readonly number: number;
  /** Seconds since the first packet. */
  readonly time: string;
  readonly link: string;
  readonly way: '' | 'in' | 'out';
  readonly source: string;
  readonly destination: string;
  readonly protocol: string;
  readonly length: number;
  readonly info: string;
}

export interface PacketDetails {
  readonly number: number;
  readonly layers: readonly PacketLayer[];
  readonly octets: Uint8Array;
  /** The length before the packet was cut. */
  readonly original: number;
}

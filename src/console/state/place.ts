/** The place in the console, which is the part of the address after `#`. */
import { signal } from '@preact/signals';

interface Place {
  /** The parts between the slashes, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#?\/?/, '').split('?');
  return {
    parts: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  };
}

/** An address that was typed may be anything. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function addressOf(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** The page with the packets of these links of a lab, or of all without any. */
export function packetsAddress(labId: string, links: readonly string[]): string {
  const page = addressOf('labs', labId, 'packets');
  return links.length === 0 ? page : `${page}?links=${links.join(',')}`;
}

/** The page with the consoles of these nodes of a lab, or where they are chosen. */
export function consolesAddress(labId: string, nodes: readonly string[] = []): string {
  const page = addressOf('labs', labId, 'consoles');
  return nodes.length === 0 ? page : `${page}?nodes=${nodes.join(',')}`;
}

export function go(address: string): void {
  location.hash = address;
}

addEventListener('hashchange', () => {
  place.value = readPlace();
});

/** The cards in the slots of a Dynamips router: which of them fit, and the ports that they have. */
import { refusals } from '../../base/errors/errors.js';
import {
  CARDS,
  MOST_SLOTS,
  MOST_WICS,
  PLATFORMS,
  WICS,
  type Card,
  type Platform,
  type Slot,
} from './dynamips-platforms.js';
import type { Properties } from './node-kind.js';
import { portOfType } from './port-types.js';
import type { NodePort } from './port.js';

/** The number of the first port of the card in WIC slot 0; those of the next slot are 16 later. */
const PORTS_OF_WIC_SLOT = 16;

export const SLOT_KEYS = Array.from({ length: MOST_SLOTS }, (_, slot) => `slot${slot}`);
export const WIC_KEYS = Array.from({ length: MOST_WICS }, (_, slot) => `wic${slot}`);

/**
 * The entries of all slots that a router has: a card, or null. Given cards must fit, because Dynamips takes some that do
 * not. Cards that were there before stay where they fit, for a change of the chassis moves slots.
 */
export function slotEntries(platform: Platform, given: Properties, before: Properties): Properties {
  const chassis = textOf(given['chassis'] ?? before['chassis']);
  const npe = textOf(given['npe'] ?? before['npe']);
  const slots = platform.slots(chassis, npe);
  const wics: Slot[] = Array.from({ length: platform.wicSlots }, () => ({
    cards: platform.wics,
    isFixed: false,
  }));
  return { ...entriesOf(SLOT_KEYS, slots, given, before), ...entriesOf(WIC_KEYS, wics, given, before) };
}

function entriesOf(
  keys: readonly string[],
  slots: readonly Slot[],
  given: Properties,
  before: Properties,
): Properties {
  const entries: Record<string, string | null> = {};
  for (const [index, key] of keys.entries()) {
    const slot = slots[index];
    const wanted = textOf(given[key]);
    if (wanted !== undefined && wanted !== '' && slot?.cards.includes(wanted) !== true) {
      throw refusals.propertyConflict(
        slot === undefined ? `There is no ${key} for ${wanted}` : `${wanted} does not fit into ${key}`,
      );
    }
    if (slot === undefined) continue;
    const earlier = textOf(before[key]);
    const kept = earlier !== undefined && slot.cards.includes(earlier) ? earlier : undefined;
    const card = given[key] === undefined ? kept : wanted;
    entries[key] = card === undefined || card === '' ? emptied(slot) : card;
  }
  return entries;
}

function emptied({ cards, isFixed }: Slot): string | null {
  return isFixed ? (cards[0] ?? null) : null;
}

/** The only module that a c3745 takes while it runs. */
const HOT_MODULE = 'NM-4T';

/** Whether the card of a slot can be changed while the router runs: where the real routers can, and Dynamips. */
export function isHotPlug(key: string, before: Properties, after: Properties): boolean {
  if (SLOT_KEYS.indexOf(key) < 1) return false;
  const { platform, chassis } = before;
  if (platform === 'c7200' || (platform === 'c3600' && chassis === '3660')) return true;
  const cards = [before[key], after[key]].map((card) => textOf(card) ?? HOT_MODULE);
  return platform === 'c3745' && cards.every((card) => card === HOT_MODULE);
}

/** The ports of the cards, slot by slot, then those of the interface cards, which are named as if they were in slot 0. */
export function cardPorts(properties: Properties): NodePort[] {
  const ports: NodePort[] = [];
  for (const [adapter, key] of SLOT_KEYS.entries()) {
    const card = CARDS.get(textOf(properties[key]) ?? '');
    if (card === undefined) continue;
    for (let port = 0; port < card.ports; port++)
      ports.push(portOfCard(card, { adapter, port, shown: port }));
  }
  let shown = 0;
  for (const [slot, key] of WIC_KEYS.entries()) {
    const card = WICS.get(textOf(properties[key]) ?? '');
    if (card === undefined) continue;
    for (let index = 0; index < card.ports; index++) {
      const port = PORTS_OF_WIC_SLOT * (slot + 1) + index;
      ports.push(portOfCard(card, { adapter: 0, port, shown: shown++ }));
    }
  }
  return ports;
}

interface CardPort {
  readonly adapter: number;
  readonly port: number;
  /** The number that the name shows. */
  readonly shown: number;
}

function portOfCard({ type }: Card, { adapter, port, shown }: CardPort): NodePort {
  const place = `${adapter}/${shown}`;
  return portOfType(type, { adapter, port, name: type.long + place, shortName: type.short + place });
}

/** The platform of a stored router; undefined when its name is none. */
export function platformOfRouter(properties: Properties): Platform | undefined {
  return PLATFORMS.get(textOf(properties['platform']) ?? '');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

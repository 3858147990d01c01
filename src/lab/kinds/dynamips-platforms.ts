/** The Cisco routers that Dynamips emulates: their slots, the cards that fit there, and the defaults of each platform. */
import { ATM, ETHERNET, FAST_ETHERNET, GIGABIT_ETHERNET, POS, SERIAL, type PortType } from './port-types.js';

export interface Card {
  readonly ports: number;
  readonly type: PortType;
}

/** The network modules, port adapters and main boards. */
export const CARDS: ReadonlyMap<string, Card> = new Map([
  ['C1700-MB-1FE', { ports: 1, type: FAST_ETHERNET }],
  ['C1700-MB-WIC1', { ports: 0, type: ETHERNET }],
  ['C2600-MB-1E', { ports: 1, type: ETHERNET }],
  ['C2600-MB-1FE', { ports: 1, type: FAST_ETHERNET }],
  ['C2600-MB-2E', { ports: 2, type: ETHERNET }],
  ['C2600-MB-2FE', { ports: 2, type: FAST_ETHERNET }],
  ['C7200-IO-2FE', { ports: 2, type: FAST_ETHERNET }],
  ['C7200-IO-FE', { ports: 1, type: FAST_ETHERNET }],
  ['C7200-IO-GE-E', { ports: 1, type: GIGABIT_ETHERNET }],
  ['GT96100-FE', { ports: 2, type: FAST_ETHERNET }],
  ['Leopard-2FE', { ports: 2, type: FAST_ETHERNET }],
  ['NM-16ESW', { ports: 16, type: FAST_ETHERNET }],
  ['NM-1E', { ports: 1, type: ETHERNET }],
  ['NM-1FE-TX', { ports: 1, type: FAST_ETHERNET }],
  ['NM-4E', { ports: 4, type: ETHERNET }],
  ['NM-4T', { ports: 4, type: SERIAL }],
  ['PA-2FE-TX', { ports: 2, type: FAST_ETHERNET }],
  ['PA-4E', { ports: 4, type: ETHERNET }],
  ['PA-4T+', { ports: 4, type: SERIAL }],
  ['PA-8E', { ports: 8, type: ETHERNET }],
  ['PA-8T', { ports: 8, type: SERIAL }],
  ['PA-A1', { ports: 1, type: ATM }],
  ['PA-FE-TX', { ports: 1, type: FAST_ETHERNET }],
  ['PA-GE', { ports: 1, type: GIGABIT_ETHERNET }],
  ['PA-POS-OC3', { ports: 1, type: POS }],
]);

/** The interface cards, which sit on the main board in slot 0. */
export const WICS: ReadonlyMap<string, Card> = new Map([
  ['WIC-1ENET', { ports: 1, type: ETHERNET }],
  ['WIC-1T', { ports: 1, type: SERIAL }],
  ['WIC-2T', { ports: 2, type: SERIAL }],
]);

export const MOST_SLOTS = 7;
export const MOST_WICS = 3;

/** A slot by the cards that fit. A fixed slot is never empty: its first card is there from the beginning. */
export interface Slot {
  readonly cards: readonly string[];
  readonly isFixed: boolean;
}

/** The default values of one platform, for nodes and for templates, which differ in GNS3. */
export interface Platform {
  /** The chassis that may be chosen, the default of nodes first; none for a platform without a choice. */
  readonly chassis: readonly string[];
  /** The settings that only some platforms have. */
  readonly special: readonly ('chassis' | 'iomem' | 'midplane' | 'npe' | 'power_supplies' | 'sensors')[];
  readonly wics: readonly string[];
  readonly wicSlots: number;
  readonly nodeDefaults: Readonly<Record<string, unknown>>;
  readonly templateDefaults: Readonly<Record<string, unknown>>;
  slots(chassis: string | undefined, npe: string | undefined): readonly Slot[];
}

const fixed = (...cards: readonly string[]): Slot => ({ cards, isFixed: true });
const open = (count: number, cards: readonly string[]): Slot[] =>
  Array.from({ length: count }, () => ({ cards, isFixed: false }));

const MODULES_2600 = ['NM-1FE-TX', 'NM-1E', 'NM-4E', 'NM-16ESW'];
const MODULES_3600 = [...MODULES_2600, 'NM-4T'];
const MODULES_3700 = ['NM-1FE-TX', 'NM-4T', 'NM-16ESW'];
const ADAPTERS_7200 = [...CARDS.keys()].filter((card) => card.startsWith('PA-'));
const BOARDS_2600: ReadonlyMap<string, string> = new Map([
  ['2610', 'C2600-MB-1E'],
  ['2611', 'C2600-MB-2E'],
  ['2620', 'C2600-MB-1FE'],
  ['2621', 'C2600-MB-2FE'],
  ['2610XM', 'C2600-MB-1FE'],
  ['2611XM', 'C2600-MB-2FE'],
  ['2620XM', 'C2600-MB-1FE'],
  ['2621XM', 'C2600-MB-2FE'],
  ['2650XM', 'C2600-MB-1FE'],
  ['2651XM', 'C2600-MB-2FE'],
]);
const SERIAL_WICS = ['WIC-1T', 'WIC-2T'];

/** The platforms that differ in the number of their slots and in their memory only. */
function gt96100(slots: number, nodeDefaults: object, templateDefaults: object): Platform {
  return {
    chassis: [],
    special: ['iomem'],
    wics: SERIAL_WICS,
    wicSlots: 3,
    nodeDefaults: { clock_divisor: 8, disk0: 16, iomem: 5, ram: 128, sparsemem: true, ...nodeDefaults },
    templateDefaults: { iomem: 5, nvram: 256, sparsemem: true, ...templateDefaults },
    slots: () => [fixed('GT96100-FE'), ...open(slots - 1, MODULES_3700)],
  };
}

const platforms: Readonly<Record<string, Platform>> = {
  c1700: {
    chassis: ['1720', '1721', '1750', '1751', '1760'],
    special: ['chassis', 'iomem'],
    wics: ['WIC-1T', 'WIC-2T', 'WIC-1ENET'],
    wicSlots: 2,
    nodeDefaults: { clock_divisor: 8, disk0: 0, iomem: 15, nvram: 32, ram: 64, sparsemem: false },
    templateDefaults: { chassis: '1760', iomem: 15, nvram: 128, ram: 160, sparsemem: false },
    slots: (chassis) =>
      chassis === '1751' || chassis === '1760'
        ? [fixed('C1700-MB-1FE'), fixed('C1700-MB-WIC1')]
        : [fixed('C1700-MB-1FE')],
  },
  c2600: {
    chassis: [...BOARDS_2600.keys()],
    special: ['chassis', 'iomem'],
    wics: SERIAL_WICS,
    wicSlots: 3,
    nodeDefaults: { clock_divisor: 8, disk0: 0, iomem: 15, nvram: 128, ram: 64, sparsemem: false },
    templateDefaults: { chassis: '2651XM', iomem: 15, nvram: 128, ram: 160, sparsemem: true },
    slots: (chassis = '2610') => [fixed(BOARDS_2600.get(chassis) ?? 'C2600-MB-1E'), ...open(1, MODULES_2600)],
  },
  c2691: gt96100(2, { nvram: 112 }, { ram: 192 }),
  c3600: {
    chassis: ['3640', '3620', '3660'],
    special: ['chassis', 'iomem'],
    wics: [],
    wicSlots: 0,
    nodeDefaults: { clock_divisor: 4, disk0: 0, iomem: 5, nvram: 128, ram: 128, sparsemem: true },
    templateDefaults: { chassis: '3660', iomem: 5, nvram: 128, ram: 192, sparsemem: true },
    slots(chassis) {
      if (chassis === '3660') return [fixed('Leopard-2FE'), ...open(6, MODULES_3600)];
      return open(chassis === '3620' ? 2 : 4, MODULES_3600);
    },
  },
  c3725: gt96100(3, { nvram: 112 }, { ram: 128 }),
  c3745: gt96100(5, { nvram: 304 }, { ram: 256 }),
  c7200: {
    chassis: [],
    special: ['midplane', 'npe', 'power_supplies', 'sensors'],
    wics: [],
    wicSlots: 0,
    nodeDefaults: {
      clock_divisor: 4,
      disk0: 64,
      midplane: 'vxr',
      npe: 'npe-400',
      nvram: 128,
      power_supplies: [1, 1],
      ram: 256,
      sensors: [22, 22, 22, 22],
      sparsemem: true,
    },
    templateDefaults: { midplane: 'vxr', npe: 'npe-400', nvram: 512, ram: 512, sparsemem: true },
    slots(_chassis, npe) {
      const boards = ['C7200-IO-FE', 'C7200-IO-2FE', 'C7200-IO-GE-E'];
      const first = npe === 'npe-g2' ? boards.toReversed() : boards;
      return [fixed(...first), ...open(MOST_SLOTS - 1, ADAPTERS_7200)];
    },
  },
};

export const PLATFORMS: ReadonlyMap<string, Platform> = new Map(Object.entries(platforms));
export const PLATFORM_NAMES = ['c7200', 'c3745', 'c3725', 'c3600', 'c2691', 'c2600', 'c1700'] as const;

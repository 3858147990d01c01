/*
 * The look of a symbol: its surface and its colours. Affinity themes name their shape and colour; in the
 * classic theme the kind of device chooses both, so that a map can be read by colour from afar.
 */
import {
  buildBar,
  buildCloud,
  buildDisc,
  buildScreen,
  buildSlab,
  buildSquare,
  type BuildSurface,
  type Tint,
} from './symbol-surface.js';

interface SymbolLook {
  readonly buildSurface: BuildSurface;
  readonly tint: Tint;
  readonly ink: string;
}

const INK = '#fff';

const BLUE: Tint = { light: '#3f7fd6', base: '#2458ad', dark: '#173c7a' };
const GRAY: Tint = { light: '#7b8894', base: '#55616d', dark: '#38424c' };
const GREEN: Tint = { light: '#3aa86a', base: '#1f7a48', dark: '#135431' };
const RED: Tint = { light: '#dd5a4d', base: '#b13429', dark: '#7a2019' };
const TEAL: Tint = { light: '#2fa3b0', base: '#15717f', dark: '#0c4c57' };
const INDIGO: Tint = { light: '#6273d1', base: '#3f4fa6', dark: '#2a3674' };
const VIOLET: Tint = { light: '#9166c4', base: '#68409c', dark: '#47296e' };
const SLATE: Tint = { light: '#3d6f94', base: '#254a68', dark: '#163248' };
const MIST: Tint = { light: '#f4f9ff', base: '#bcd3ec', dark: '#7f9fc2' };

const affinityTints = new Map([
  ['blue', BLUE],
  ['gray', GRAY],
  ['green', GREEN],
  ['red', RED],
]);

const SLAB: SymbolLook = { buildSurface: buildSlab, tint: BLUE, ink: INK };
const BAR: SymbolLook = { buildSurface: buildBar, tint: TEAL, ink: INK };
const SCREEN: SymbolLook = { buildSurface: buildScreen, tint: SLATE, ink: INK };
const CLOUD: SymbolLook = { buildSurface: buildCloud, tint: MIST, ink: SLATE.base };

/** Stems in no group are plain blue slabs. */
const CLASSIC_GROUPS: readonly (readonly [look: SymbolLook, stems: string])[] = [
  [CLOUD, 'cloud nat'],
  [BAR, 'edge_label_switch_router gateway iosv_virl label_switch_router optical_router router router.awp'],
  [BAR, 'router_firewall router_netflow voice_router'],
  [SCREEN, 'computer docker_guest traceng vbox_guest vmware_guest vpcs_guest'],
  [{ ...SLAB, tint: INDIGO }, 'atm_bridge atm_switch frame_relay_switch'],
  [{ ...SLAB, tint: RED }, 'PIX_firewall asa firewall ids'],
  [{ ...SLAB, tint: VIOLET }, 'PBX call_manager ip_phone sip_server voice_access_server'],
  [{ ...SLAB, tint: GREEN }, 'access_point lightweight_ap wlan_controller'],
  [{ ...SLAB, tint: SLATE }, 'qemu_guest'],
  [{ ...SLAB, tint: GRAY }, 'printer server'],
];

const classicLooks = new Map(
  CLASSIC_GROUPS.flatMap(([look, stems]) =>
    stems.split(' ').map((stem): [string, SymbolLook] => [stem, look]),
  ),
);

export function findSymbolLook(theme: string, stem: string): SymbolLook {
  const [family, shape, colour = ''] = theme.split('-');
  if (family !== 'Affinity') {
    return classicLooks.get(stem) ?? SLAB;
  }
  const buildSurface = shape === 'circle' ? buildDisc : buildSquare;
  return { buildSurface, tint: affinityTints.get(colour) ?? GRAY, ink: INK };
}

/*
 * The catalogue of built-in symbols: ids, file names, themes and pixel sizes as the reference server
 * answers them, so that saved projects and clients find every symbol they name. Only these facts are
 * shared with the reference; the pictures are ours (symbol-drawing.ts). Sorted by theme, then file name.
 */
export interface BuiltinSymbol {
  readonly symbol_id: string;
  readonly filename: string;
  readonly theme: string;
  readonly builtin: true;
  readonly width: number;
  readonly height: number;
}

const AFFINITY_SIZE = 60;
const AFFINITY_SHAPES = ['circle', 'square'];
const AFFINITY_COLOURS = ['blue', 'gray', 'green', 'red'];
const AFFINITY_NAMES = `
  atm bug camera camera_dome client client_vm cloud coffee cog communications conversation dna dna2
  docker dslam factory fingerprint firewall firewall3 globe grid grid2 health house hub inspect inspect2
  interconnect ip_phone isdn laptop ldap light_bulb link loadbalancer nas nat nat2 office optical
  phone_cloud phone_old phone_wireless pinpoint printer rj45 router router2 router_cloud satellite
  satellite_dish scull server server_cluster shield statistics storage switch switch_multilayer tablet
  template tree user virtualbox vm vmware vrf wifi wlc xml`;

/** Classic symbols grouped by "width x height". */
const CLASSIC_NAMES: readonly (readonly [width: number, height: number, names: string])[] = [
  [49, 70, 'server sip_server'],
  [51, 48, 'PBX access_server atm_switch dslam frame_relay_switch ids iosv_l2_virl multilayer_switch'],
  [51, 48, 'voice_access_server wlan_controller'],
  [51, 66, 'route_switch_processor'],
  [52, 60, 'asa'],
  [60, 60, 'qemu_guest'],
  [65, 59, 'computer docker_guest traceng vbox_guest vmware_guest vpcs_guest'],
  [66, 45, 'PIX_firewall firewall optical_router router router.awp router_firewall router_netflow'],
  [66, 45, 'voice_router'],
  [66, 56, 'edge_label_switch_router gateway iosv_virl label_switch_router'],
  [68, 67, 'ip_phone printer'],
  [72, 32, 'access_point atm_bridge ethernet_switch hub lightweight_ap'],
  [75, 47, 'call_manager'],
  [159, 71, 'cloud nat'],
];

const CLASSIC_FOLDER = ':/symbols/classic/';

function listSymbols(): BuiltinSymbol[] {
  const symbols: BuiltinSymbol[] = [];
  for (const shape of AFFINITY_SHAPES) {
    for (const colour of AFFINITY_COLOURS) {
      const theme = `Affinity-${shape}-${colour}`;
      const folder = `:/symbols/affinity/${shape}/${colour}/`;
      for (const name of splitNames(AFFINITY_NAMES)) {
        symbols.push(describeSymbol(theme, folder, name, AFFINITY_SIZE, AFFINITY_SIZE));
      }
    }
  }
  const classic = CLASSIC_NAMES.flatMap(([width, height, names]) =>
    splitNames(names).map((name) => describeSymbol('Classic', CLASSIC_FOLDER, name, width, height)),
  );
  classic.sort((left, right) => (left.filename < right.filename ? -1 : 1));
  return [...symbols, ...classic];
}

function splitNames(names: string): string[] {
  return names.trim().split(/\s+/);
}

function describeSymbol(
  theme: string,
  folder: string,
  name: string,
  width: number,
  height: number,
): BuiltinSymbol {
  const filename = `${name}.svg`;
  return { symbol_id: folder + filename, filename, theme, builtin: true, width, height };
}

export const BUILTIN_SYMBOLS: readonly BuiltinSymbol[] = listSymbols();

const symbolById = new Map(BUILTIN_SYMBOLS.map((symbol) => [symbol.symbol_id, symbol]));

/**
 * Finds a symbol by its exact id, else the classic symbol of the same file name: ids written before
 * themes existed (`:/symbols/router.svg`) stay valid. The caller decides what an unknown id becomes.
 */
export function findBuiltinSymbol(id: string): BuiltinSymbol | undefined {
  return symbolById.get(id) ?? symbolById.get(CLASSIC_FOLDER + id.slice(id.lastIndexOf('/') + 1));
}

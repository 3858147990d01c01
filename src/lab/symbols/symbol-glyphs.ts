/*
 * Chooses the glyphs of a symbol by the stem of its file name. Most stems are glyph names themselves; the
 * table holds the others. A stem without any glyph is written out in its first three letters.
 */
import { EMBLEM_GLYPHS } from './emblem-glyphs.js';
import type { Glyph } from './glyph.js';
import { HOST_GLYPHS } from './host-glyphs.js';
import { MEDIA_GLYPHS } from './media-glyphs.js';
import { NETWORK_GLYPHS } from './network-glyphs.js';

const glyphByName = new Map(
  [NETWORK_GLYPHS, HOST_GLYPHS, MEDIA_GLYPHS, EMBLEM_GLYPHS].flatMap((glyphs) => Object.entries(glyphs)),
);

/** Stems drawn with other glyphs; two names stand side by side where the tile is wide enough. */
const glyphNamesByStem = new Map(
  Object.entries({
    PIX_firewall: ['shield', 'wall'],
    access_point: ['antenna'],
    access_server: ['router2'],
    asa: ['shield_wall'],
    atm_bridge: ['bridge'],
    atm_switch: ['atm'],
    call_manager: ['handset', 'cog'],
    computer: ['window'],
    docker_guest: ['docker'],
    edge_label_switch_router: ['label', 'router2'],
    ethernet_switch: ['switch'],
    firewall3: ['wall'],
    frame_relay_switch: ['frames'],
    gateway: ['router', 'gateway'],
    ids: ['inspect2'],
    iosv_l2_virl: ['switch'],
    iosv_virl: ['router2'],
    isdn: ['frames'],
    label_switch_router: ['label', 'router'],
    lightweight_ap: ['wifi'],
    multilayer_switch: ['multilayer'],
    optical_router: ['router', 'optical'],
    qemu_guest: ['emulator'],
    route_switch_processor: ['processor'],
    'router.awp': ['router', 'antenna'],
    router_firewall: ['router', 'wall'],
    router_netflow: ['router', 'flow'],
    sip_server: ['handset'],
    switch_multilayer: ['multilayer'],
    traceng: ['hops'],
    vbox_guest: ['cube'],
    virtualbox: ['cube'],
    vmware: ['panes'],
    vmware_guest: ['panes'],
    voice_access_server: ['handset'],
    voice_router: ['router', 'handset'],
    vpcs_guest: ['prompt'],
    wlan_controller: ['wlc'],
  }),
);

/** The glyphs of a stem, in reading order; empty when the stem is to be written in letters. */
export function findSymbolGlyphs(stem: string): Glyph[] {
  const names = glyphNamesByStem.get(stem) ?? [stem];
  return names.flatMap((name) => {
    const glyph = glyphByName.get(name);
    return glyph === undefined ? [] : [glyph];
  });
}

/*
 * Glyphs of forwarding devices and of the links between them. Arrows carry the meaning: crossing for
 * routing, opposed for switching, exchanged for translation; squares are cells, bars are frames.
 */
import { boxPath, circlePath, type Glyph } from './glyph.js';

const CLOUD_OUTLINE = 'M30 77H70A17 17 0 0 0 75.5 43.900A25 25 0 0 0 27.5 40.600A18.5 18.5 0 0 0 30 77Z';

export const NETWORK_GLYPHS: Readonly<Record<string, Glyph>> = {
  router: [
    ['line', 'M12 30H30L66 70H86M12 70H30L42 56.700M54 43.300L66 30H86'],
    ['line', 'M74 17L87 30L74 43M74 57L87 70L74 83'],
  ],
  router2: [
    ['solid', circlePath(50, 50, 11)],
    ['line', 'M50 30V11M50 70V89M30 50H11M70 50H89'],
    ['line', 'M39 21L50 10L61 21M39 79L50 90L61 79M21 39L10 50L21 61M79 39L90 50L79 61'],
  ],
  router_cloud: [
    ['line', CLOUD_OUTLINE],
    ['fine', 'M32 52H41L57 66H67M32 66H41L46 61.500M52 56.500L57 52H67M62 46L68 52L62 58M62 60L68 66L62 72'],
  ],
  switch: [
    ['line', 'M28 20H88M78 10L88 20L78 30M72 40H12M22 30L12 40L22 50'],
    ['line', 'M28 60H88M78 50L88 60L78 70M72 80H12M22 70L12 80L22 90'],
  ],
  multilayer: [
    ['solid', 'M50 8L92 30L50 52L8 30Z'],
    ['score', 'M38 23L34 27H62M62 37L66 33H38'],
    ['line', 'M10 50L50 71L90 50M10 69L50 90L90 69'],
  ],
  processor: [
    ['line', boxPath(26, 26, 48, 48)],
    ['solid', boxPath(40, 40, 20, 20)],
    ['fine', 'M38 14V22M50 14V22M62 14V22M38 78V86M50 78V86M62 78V86'],
    ['fine', 'M14 38H22M14 50H22M14 62H22M78 38H86M78 50H86M78 62H86'],
  ],
  hub: [
    ['line', 'M50 50L50 18M50 50L77.7 34M50 50L77.7 66M50 50L50 82M50 50L22.3 66M50 50L22.3 34'],
    ['solid', circlePath(50, 50, 15)],
    ['solid', circlePath(50, 15, 8) + circlePath(80.3, 32.5, 8) + circlePath(80.3, 67.5, 8)],
    ['solid', circlePath(50, 85, 8) + circlePath(19.7, 67.5, 8) + circlePath(19.7, 32.5, 8)],
  ],
  cloud: [['line', CLOUD_OUTLINE]],
  globe: [
    ['line', circlePath(50, 50, 37)],
    ['fine', 'M13 50H87M19 31H81M19 69H81M50 13C28 34 28 66 50 87C72 66 72 34 50 13'],
  ],
  nat: [
    ['solid', circlePath(21, 50, 13)],
    ['line', circlePath(79, 50, 11)],
    ['line', 'M24 26C38 11 62 11 74 24M76 9V26H59'],
    ['line', 'M76 74C62 89 38 89 26 76M24 91V74H41'],
  ],
  nat2: [
    ['line', CLOUD_OUTLINE],
    ['fine', 'M33 53H65M58 46L65 53L58 60M66 67H35M42 60L35 67L42 74'],
  ],
  atm: [
    ['line', 'M12 19H86M75 9L86 19L75 29M88 81H14M25 71L14 81L25 91'],
    ['solid', boxPath(8, 38, 24, 24) + boxPath(38, 38, 24, 24) + boxPath(68, 38, 24, 24)],
    ['score', 'M16 40V60M46 40V60M76 40V60'],
  ],
  bridge: [
    ['solid', boxPath(9, 52, 24, 28) + boxPath(67, 52, 24, 28)],
    ['score', 'M9 62H33M67 62H91'],
    ['line', 'M21 40C32 16 68 16 79 38M62 36L80 40L84 22'],
  ],
  frames: [
    ['solid', boxPath(10, 14, 50, 15) + boxPath(68, 14, 22, 15)],
    ['solid', boxPath(10, 35, 22, 15) + boxPath(40, 35, 50, 15)],
    ['line', 'M14 65H86M76 56L86 65L76 74M86 84H14M24 75L14 84L24 93'],
  ],
  label: [
    ['line', 'M12 28H58L86 50L58 72H12Z'],
    ['solid', circlePath(60, 50, 7)],
    ['fine', 'M24 43H42M24 57H42'],
  ],
  dslam: [
    ['solid', 'M38 14L72 34V66L38 86Z'],
    ['line', 'M10 26H30M10 42H30M10 58H30M10 74H30M78 50H92'],
  ],
  loadbalancer: [
    ['line', 'M10 50H44M44 50L66 22H86M44 50H86M44 50L66 78H86'],
    ['line', 'M77 13L87 22L77 31M77 41L87 50L77 59M77 69L87 78L77 87'],
    ['solid', circlePath(44, 50, 10)],
  ],
  gateway: [
    ['line', 'M26 86V40A24 24 0 0 1 74 40V86M14 86H86'],
    ['line', 'M36 62H62M53 51L64 62L53 73'],
  ],
  interconnect: [
    ['line', 'M22 22H78V78H22ZM22 22L78 78M78 22L22 78'],
    ['solid', circlePath(22, 22, 12) + circlePath(78, 22, 12)],
    ['solid', circlePath(22, 78, 12) + circlePath(78, 78, 12)],
  ],
  flow: [
    ['line', 'M10 30C24 16 36 16 50 30S76 44 90 30M10 52C24 38 36 38 50 52S76 66 90 52'],
    ['line', 'M10 74C24 60 36 60 50 74S76 88 90 74'],
  ],
  optical: [
    ['solid', circlePath(50, 50, 14)],
    ['line', 'M50 10V24M50 76V90M10 50H24M76 50H90'],
    [
      'line',
      'M21.7 21.700L31.6 31.600M68.4 68.400L78.3 78.300M78.3 21.700L68.4 31.600M31.6 68.400L21.7 78.3',
    ],
  ],
  hops: [
    ['line', 'M14 66C18 24 46 24 50 66C54 24 78 24 85 60M72 52L86 62L92 46'],
    ['solid', circlePath(14, 74, 10) + circlePath(50, 74, 10) + circlePath(86, 80, 8)],
  ],
  link: [
    ['line', 'M44 35L55 24A15.5 15.5 0 0 1 77 46L66 57A15.5 15.5 0 0 1 47 59.5'],
    ['line', 'M56 65L45 76A15.5 15.5 0 0 1 23 54L34 43A15.5 15.5 0 0 1 53 40.5'],
  ],
  rj45: [
    ['line', 'M16 24H84V72H68V84H32V72H16Z'],
    ['fine', 'M28 28V44M39 28V44M50 28V44M61 28V44M72 28V44'],
  ],
  tree: [
    [
      'solid',
      boxPath(36, 10, 28, 22) + boxPath(8, 68, 24, 22) + boxPath(38, 68, 24, 22) + boxPath(68, 68, 24, 22),
    ],
    ['fine', 'M50 32V66M20 66V50H80V66'],
  ],
};

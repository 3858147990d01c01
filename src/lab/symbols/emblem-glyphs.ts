/*
 * Glyphs of places, people and ideas: what a lab diagram annotates rather than what it runs.
 */
import { boxPath, circlePath, type Glyph } from './glyph.js';

export const EMBLEM_GLYPHS: Readonly<Record<string, Glyph>> = {
  coffee: [
    ['solid', 'M16 40H70V66Q70 84 52 84H34Q16 84 16 66Z'],
    ['line', 'M72 46H78A11 11 0 0 1 78 68H71'],
    ['fine', 'M32 30C26 22 38 18 32 10M52 30C46 22 58 18 52 10'],
  ],
  cog: [
    ['line', circlePath(50, 50, 22)],
    ['line', 'M50 11V25M50 75V89M11 50H25M75 50H89M22.4 22.400L32.3 32.3'],
    ['line', 'M67.7 67.700L77.6 77.600M77.6 22.400L67.7 32.300M32.3 67.700L22.4 77.6'],
    ['solid', circlePath(50, 50, 9)],
  ],
  conversation: [
    ['solid', 'M14 12H64Q70 12 70 18V44Q70 50 64 50H36L20 64V50H14Q8 50 8 44V18Q8 12 14 12Z'],
    ['line', 'M80 36H86Q92 36 92 42V68Q92 74 86 74H82V86L68 74H48'],
    ['score', 'M22 26H56M22 37H44'],
  ],
  dna: [
    ['line', 'M30 8C30 36 70 36 70 50S30 64 30 92M70 8C70 36 30 36 30 50S70 64 70 92'],
    ['fine', 'M36 20H64M36 80H64M36 50H64'],
  ],
  dna2: [
    ['line', 'M8 30C36 30 36 70 50 70S64 30 92 30M8 70C36 70 36 30 50 30S64 70 92 70'],
    ['fine', 'M20 36V64M80 36V64M50 36V64'],
  ],
  factory: [
    ['solid', 'M10 88V46L34 60V46L58 60V46L66 51L69 12H82L90 60V88Z'],
    ['cut', boxPath(24, 70, 12, 10) + boxPath(44, 70, 12, 10) + boxPath(64, 70, 12, 10)],
  ],
  grid: [
    ['solid', boxPath(12, 12, 21, 21) + boxPath(39.5, 12, 21, 21) + boxPath(67, 12, 21, 21)],
    ['solid', boxPath(12, 39.5, 21, 21) + boxPath(39.5, 39.5, 21, 21) + boxPath(67, 39.5, 21, 21)],
    ['solid', boxPath(12, 67, 21, 21) + boxPath(39.5, 67, 21, 21) + boxPath(67, 67, 21, 21)],
  ],
  grid2: [
    ['line', boxPath(14, 14, 28, 28) + boxPath(58, 14, 28, 28)],
    ['line', boxPath(14, 58, 28, 28) + boxPath(58, 58, 28, 28)],
  ],
  health: [
    ['solid', 'M50 88C22 66 8 52 8 34A22 22 0 0 1 50 26A22 22 0 0 1 92 34C92 52 78 66 50 88Z'],
    ['score', 'M14 48H34L42 34L54 64L61 48H86'],
  ],
  house: [['solid', 'M50 8L94 46L88 53L82 48V88H60V62H40V88H18V48L12 53L6 46Z']],
  ldap: [
    ['line', 'M22 10H80V90H22Z'],
    ['fine', 'M13 26H30M13 42H30M13 58H30M13 74H30'],
    ['solid', circlePath(54, 38, 11) + 'M36 70C36 48 72 48 72 70Z'],
  ],
  light_bulb: [
    ['line', 'M38 70C38 58 22 54 22 36A28 28 0 0 1 78 36C78 54 62 58 62 70Z'],
    ['line', 'M40 81H60M45 91H55'],
    ['fine', 'M42 42L50 50L58 42'],
  ],
  office: [
    ['solid', 'M16 10H62V90H16ZM67 38H88V90H67Z'],
    [
      'cut',
      boxPath(25, 20, 10, 10) + boxPath(43, 20, 10, 10) + boxPath(25, 38, 10, 10) + boxPath(43, 38, 10, 10),
    ],
    ['cut', boxPath(25, 56, 10, 10) + boxPath(43, 56, 10, 10) + boxPath(34, 74, 10, 16)],
    ['cut', boxPath(73, 48, 9, 8) + boxPath(73, 62, 9, 8) + boxPath(73, 76, 9, 8)],
  ],
  pinpoint: [
    ['solid', 'M50 94C34 70 20 56 20 38A30 30 0 0 1 80 38C80 56 66 70 50 94Z'],
    ['cut', circlePath(50, 38, 12)],
  ],
  statistics: [
    ['line', 'M12 10V88H90'],
    ['solid', boxPath(24, 54, 14, 26) + boxPath(46, 36, 14, 44) + boxPath(68, 18, 14, 62)],
  ],
  user: [
    ['solid', circlePath(50, 30, 20)],
    ['solid', 'M12 90C12 44 88 44 88 90Z'],
  ],
};

/*
 * Glyphs of telephony, radio and security equipment.
 */
import { boxPath, circlePath, type Glyph } from './glyph.js';

const HANDSET =
  'M16 20L28 10Q32 7 35 11L45 25Q47 29 44 32L37 39Q44 54 60 62L67 55Q70 52 74 54L88 64Q92 67 89 71L80 84Q76 90 68 88Q28 78 12 34Q9 26 16 20Z';
const SMALL_HANDSET =
  'M36 50L41 46Q43 45 44 47L48 53Q49 55 47 56L45 58Q48 63 53 66L55 64Q57 62 59 63L65 67Q67 69 65 71L61 75Q59 77 56 76Q40 72 35 56Q33 52 36 50Z';
const SHIELD = 'M50 9L85 20V46C85 68 70 83 50 92C30 83 15 68 15 46V20Z';

export const MEDIA_GLYPHS: Readonly<Record<string, Glyph>> = {
  handset: [['solid', HANDSET]],
  ip_phone: [
    ['solid', 'M22 40H78Q84 40 86 46L92 82Q93 90 86 90H14Q7 90 8 82L14 46Q16 40 22 40Z'],
    ['solid', 'M8 30C8 4 92 4 92 30V36H70V26C70 24 30 24 30 26V36H8Z'],
    ['cut', boxPath(34, 50, 32, 10)],
    ['cut', circlePath(36, 70, 3.5) + circlePath(50, 70, 3.5) + circlePath(64, 70, 3.5)],
    ['cut', circlePath(36, 81, 3.5) + circlePath(50, 81, 3.5) + circlePath(64, 81, 3.5)],
  ],
  phone_old: [
    ['solid', 'M30 42H70L86 76Q90 88 80 88H20Q10 88 14 76Z'],
    ['solid', 'M6 32C6 6 94 6 94 32V38H72V28C72 25 28 25 28 28V38H6Z'],
    ['cut', circlePath(50, 66, 15)],
    ['solid', circlePath(50, 66, 7)],
  ],
  phone_wireless: [
    ['solid', HANDSET],
    ['line', 'M60 32A14 14 0 0 1 68 40M62 14A30 30 0 0 1 86 38'],
  ],
  phone_cloud: [
    ['line', 'M30 82H70A17 17 0 0 0 75.5 48.900A25 25 0 0 0 27.5 45.600A18.5 18.5 0 0 0 30 82Z'],
    ['solid', SMALL_HANDSET],
  ],
  wifi: [
    ['line', 'M12 40C32 16 68 16 88 40M26 55C38 39 62 39 74 55'],
    ['solid', circlePath(50, 74, 11)],
  ],
  antenna: [
    ['line', 'M50 50V88M34 88H66M30 28A28 28 0 0 0 30 60M70 28A28 28 0 0 1 70 60'],
    ['line', 'M17 16A44 44 0 0 0 17 72M83 16A44 44 0 0 1 83 72'],
    ['solid', circlePath(50, 44, 10)],
  ],
  wlc: [
    ['line', 'M16 34C34 12 66 12 84 34M31 45C40 33 60 33 69 45'],
    ['solid', 'M14 60H86Q90 60 90 64V84Q90 88 86 88H14Q10 88 10 84V64Q10 60 14 60Z'],
    ['score', 'M22 74H44'],
    ['cut', circlePath(66, 74, 4.5) + circlePath(79, 74, 4.5)],
  ],
  communications: [
    ['line', 'M50 40L30 90M50 40L70 90M40 66H60M35 78H65'],
    ['line', 'M36 16A20 20 0 0 0 36 46M64 16A20 20 0 0 1 64 46'],
    ['solid', circlePath(50, 31, 9)],
  ],
  satellite: [
    ['solid', 'M40 44L56 28L72 44L56 60ZM8 40L28 20L44 36L24 56ZM44 76L64 56L80 72L60 92Z'],
    ['line', 'M64 36L78 22'],
    ['line', 'M72 12A20 20 0 0 1 88 28'],
    ['score', 'M18 30L34 46M54 66L70 82'],
  ],
  satellite_dish: [
    ['solid', 'M18 22C8 54 46 90 78 80Z'],
    ['line', 'M48 52L66 34M26 90H62M42 74L34 88'],
    ['line', 'M62 10A28 28 0 0 1 90 38'],
    ['solid', circlePath(68, 32, 8)],
  ],
  camera: [
    ['solid', 'M18 18L88 40L80 64L10 42ZM88 52L94 54L90 68L84 66Z'],
    ['line', 'M44 58L36 76H14M14 64V90'],
    ['cut', circlePath(30, 36, 5)],
  ],
  camera_dome: [
    ['solid', 'M10 16H90V34H10ZM18 40H82A32 36 0 0 1 18 40Z'],
    ['cut', circlePath(50, 53, 11)],
    ['solid', circlePath(50, 53, 5)],
  ],
  wall: [
    ['solid', boxPath(9, 14, 38, 20) + boxPath(53, 14, 38, 20)],
    ['solid', boxPath(9, 40, 17, 20) + boxPath(32, 40, 36, 20) + boxPath(74, 40, 17, 20)],
    ['solid', boxPath(9, 66, 38, 20) + boxPath(53, 66, 38, 20)],
  ],
  firewall: [
    ['solid', boxPath(8, 62, 26, 13) + boxPath(38, 62, 26, 13) + boxPath(68, 62, 24, 13)],
    [
      'solid',
      boxPath(8, 79, 13, 13) + boxPath(25, 79, 26, 13) + boxPath(55, 79, 26, 13) + boxPath(85, 79, 7, 13),
    ],
    [
      'solid',
      'M50 56C28 56 27 36 38 26C39 32 42 34 44 34C42 22 48 12 58 6C56 18 74 24 72 42C71 51 62 56 50 56Z',
    ],
    ['cut', 'M51 56C42 55 43 45 51 38C51 44 59 44 58 50C58 54 55 56 51 56Z'],
  ],
  shield: [
    ['line', SHIELD],
    ['line', 'M33 49L46 62L68 36'],
  ],
  shield_wall: [
    ['solid', SHIELD],
    ['score', 'M17 38H83M22 62H78M50 12V38M34 40V62M66 40V62M50 64V90'],
  ],
  inspect: [
    ['line', circlePath(42, 42, 29)],
    ['line', 'M64 64L88 88'],
  ],
  inspect2: [
    ['line', circlePath(42, 42, 29)],
    ['line', 'M64 64L88 88'],
    ['fine', 'M24 44H33L39 30L46 54L51 44H60'],
  ],
  fingerprint: [
    ['fine', 'M24 68C20 44 26 24 50 24C74 24 80 46 76 74'],
    ['fine', 'M36 80C30 54 34 38 50 38C66 38 68 58 62 86M49 52C51 64 51 76 48 90'],
    ['fine', 'M20 26C34 8 66 8 80 26'],
  ],
  bug: [
    [
      'solid',
      'M50 32C68 32 74 46 74 60C74 76 64 90 50 90C36 90 26 76 26 60C26 46 32 32 50 32ZM36 26A14 14 0 0 1 64 26Z',
    ],
    ['score', 'M50 40V88'],
    ['fine', 'M26 48L10 38M24 62H8M28 76L12 86M74 48L90 38M76 62H92M72 76L88 86M40 14L34 6M60 14L66 6'],
  ],
  scull: [
    [
      'solid',
      'M50 10C76 10 88 28 86 46C85 58 78 62 72 66V84Q72 90 66 90H34Q28 90 28 84V66C22 62 15 58 14 46C12 28 24 10 50 10Z',
    ],
    ['cut', circlePath(35, 46, 10) + circlePath(65, 46, 10) + 'M50 56L57 68H43Z'],
    ['score', 'M42 78V90M58 78V90'],
  ],
};

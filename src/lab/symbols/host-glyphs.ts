/*
 * Glyphs of end systems: computers, servers, storage, virtual machines, containers and peripherals.
 */
import { boxPath, circlePath, type Glyph } from './glyph.js';

const SCREEN = 'M16 18H84Q88 18 88 22V62Q88 66 84 66H16Q12 66 12 62V22Q12 18 16 18Z';
const SCREEN_FOOT = 'M50 68V82M32 84H68';

export const HOST_GLYPHS: Readonly<Record<string, Glyph>> = {
  client: [
    ['line', SCREEN],
    ['line', SCREEN_FOOT],
    ['fine', 'M26 32L36 41L26 50M44 51H58'],
  ],
  client_vm: [
    ['line', SCREEN],
    ['line', SCREEN_FOOT],
    ['fine', 'M50 26L65 34V50L50 58L35 50V34ZM35 34L50 42L65 34M50 42V58'],
  ],
  prompt: [['line', 'M18 26L44 50L18 74M52 76H84']],
  window: [
    ['line', 'M10 20H90V80H10ZM10 36H90'],
    ['fine', 'M22 50H52M22 64H66'],
  ],
  laptop: [
    ['line', 'M22 22H78V64H22Z'],
    ['solid', 'M6 70H94L90 80Q89 83 86 83H14Q11 83 10 80Z'],
  ],
  tablet: [
    ['line', 'M30 10H70Q77 10 77 17V83Q77 90 70 90H30Q23 90 23 83V17Q23 10 30 10Z'],
    ['fine', 'M44 79H56'],
  ],
  server: [
    [
      'solid',
      'M16 10H84Q88 10 88 14V32H12V14Q12 10 16 10ZM12 39H88V61H12ZM12 68H88V86Q88 90 84 90H16Q12 90 12 86Z',
    ],
    ['score', 'M24 21H46M24 50H46M24 79H46'],
    ['cut', circlePath(74, 21, 5) + circlePath(74, 50, 5) + circlePath(74, 79, 5)],
  ],
  server_cluster: [
    ['solid', boxPath(8, 14, 38, 20) + boxPath(8, 40, 38, 20) + boxPath(8, 66, 38, 20)],
    ['solid', boxPath(54, 14, 38, 20) + boxPath(54, 40, 38, 20) + boxPath(54, 66, 38, 20)],
    ['score', 'M16 24H26M16 50H26M16 76H26M62 24H72M62 50H72M62 76H72'],
  ],
  nas: [
    ['line', 'M18 12H82V80H18ZM28 82V90M72 82V90'],
    [
      'solid',
      boxPath(28, 24, 8, 44) + boxPath(40, 24, 8, 44) + boxPath(52, 24, 8, 44) + boxPath(64, 24, 8, 44),
    ],
  ],
  storage: [
    ['solid', 'M14 24C14 6 86 6 86 24V76C86 94 14 94 14 76Z'],
    ['score', 'M14 26C14 44 86 44 86 26M14 51C14 69 86 69 86 51'],
  ],
  cube: [
    ['line', 'M50 10L86 29V71L50 90L14 71V29Z'],
    ['line', 'M14 29L50 49L86 29M50 49V90'],
  ],
  vm: [
    ['fine', 'M10 26V10H26M74 10H90V26M90 74V90H74M26 90H10V74'],
    ['line', 'M50 25L73 37.500V62.500L50 75L27 62.500V37.500ZM27 37.500L50 50L73 37.500M50 50V75'],
  ],
  panes: [
    ['line', 'M18 12H58Q62 12 62 16V34M34 62H16Q12 62 12 58V18Q12 12 18 12'],
    ['solid', 'M44 38H82Q88 38 88 44V82Q88 88 82 88H44Q38 88 38 82V44Q38 38 44 38Z'],
  ],
  emulator: [
    ['line', circlePath(47, 47, 33)],
    ['line', 'M60 60L86 86'],
    ['solid', 'M40 33L63 47L40 61Z'],
  ],
  docker: [
    ['solid', boxPath(37, 12, 26, 20) + boxPath(22, 37, 26, 20) + boxPath(52, 37, 26, 20)],
    ['solid', 'M8 62H92L82 84Q80 88 75 88H25Q20 88 18 84Z'],
    ['score', 'M45.5 16V28M54.5 16V28M30.5 41V53M39.5 41V53M60.5 41V53M69.5 41V53'],
  ],
  printer: [
    ['line', 'M28 36V12H72V36'],
    ['solid', 'M14 38H86Q92 38 92 44V70H78V58H22V70H8V44Q8 38 14 38Z'],
    ['line', 'M28 64H72V88H28Z'],
    ['cut', circlePath(80, 48, 4)],
  ],
  template: [
    ['line', 'M20 10H62L80 28V90H20Z'],
    ['fine', 'M60 12V30H78M33 46H67M33 60H67M33 74H54'],
  ],
  xml: [['line', 'M28 26L8 50L28 74M72 26L92 50L72 74M58 18L42 82']],
};

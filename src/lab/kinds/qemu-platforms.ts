/** The platforms that QEMU emulates, each with a program of its own. */
import { z } from 'zod';
import type { Properties } from './node-kind.js';

export const QEMU_PLATFORMS = [
  'aarch64',
  'alpha',
  'arm',
  'cris',
  'i386',
  'lm32',
  'm68k',
  'microblaze',
  'microblazeel',
  'mips',
  'mips64',
  'mips64el',
  'mipsel',
  'moxie',
  'or32',
  'ppc',
  'ppc64',
  'ppcemb',
  's390x',
  'sh4',
  'sh4eb',
  'sparc',
  'sparc64',
  'tricore',
  'unicore32',
  'x86_64',
  'xtensa',
  'xtensaeb',
] as const;

const PREFIX = 'qemu-system-';
const DEFAULT_PLATFORM = 'x86_64';

/** The name of a program, perhaps with its folder: never anything else than QEMU, because it is started. */
export const qemuProgram = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => platformOfProgram(path) !== undefined, {
    error: 'must be the path of a program of QEMU',
  });

/** The platform of a program; undefined when it is none of QEMU's. Labs made on Windows name programs with `.exe`. */
function platformOfProgram(path: string): string | undefined {
  const base = path.split(/[/\\]/).at(-1) ?? '';
  const isWindows = base.toLowerCase().endsWith('.exe');
  const name = isWindows ? base.slice(0, -4).replace(/w$/, '') : base;
  if (name === 'qemu-kvm') return DEFAULT_PLATFORM;
  if (name === 'qemu') return 'i386';
  return QEMU_PLATFORMS.find((platform) => name === PREFIX + platform);
}

/** The platform and the program that follow from those given; a program decides about the platform. */
export function platformOf({ platform, qemu_path: path }: Properties): {
  platform: string;
  qemu_path: string;
} {
  if (typeof path === 'string' && path !== '') {
    return { platform: platformOfProgram(path) ?? DEFAULT_PLATFORM, qemu_path: path };
  }
  const chosen = typeof platform === 'string' && platform !== '' ? platform : DEFAULT_PLATFORM;
  return { platform: chosen, qemu_path: `/usr/bin/${PREFIX}${chosen}` };
}

/** The Debian packages of QEMU's programs. */
const PACKAGES: readonly (readonly [platforms: RegExp, name: string])[] = [
  [/^(i386|x86_64)$/, 'qemu-system-x86'],
  [/^(arm|aarch64)$/, 'qemu-system-arm'],
  [/^mips/, 'qemu-system-mips'],
  [/^ppc/, 'qemu-system-ppc'],
  [/^sparc/, 'qemu-system-sparc'],
];

export function qemuPackage(platform: string): string {
  return PACKAGES.find(([platforms]) => platforms.test(platform))?.[1] ?? 'qemu-system-misc';
}

/** Whether guests run on the processor itself, by KVM, or are emulated, by TCG. */

/** `auto` uses KVM where it can; `require` refuses to emulate what KVM could run; `off` always emulates. */
export type KvmSetting = 'auto' | 'require' | 'off';

/** The platforms whose guests the processor of this host can run. */
const OWN_PLATFORMS: Readonly<Record<string, readonly string[]>> = {
  x64: ['x86_64', 'i386'],
  ia32: ['i386'],
  arm64: ['aarch64'],
  s390x: ['s390x'],
  ppc64: ['ppc64'],
};
const WANTS_TCG = /(?:accel=|-accel +)tcg\b/;

interface KvmQuestion {
  readonly setting: KvmSetting;
  /** Why this host has no KVM that works; undefined when it has. */
  readonly fault: string | undefined;
  readonly platform: string;
  /** The further options of the node. */
  readonly options: string;
}

/** Returns whether a guest runs by KVM, or why it may not run at all. */
export function kvmOf({
  setting,
  fault,
  platform,
  options,
}: KvmQuestion): boolean | { readonly why: string } {
  if (setting === 'off' || WANTS_TCG.test(options) || !kvmPlatforms().includes(platform)) return false;
  if (fault === undefined) return true;
  return setting === 'auto' ? false : { why: `KVM is required, and ${fault}` };
}

/** The platforms whose guests KVM could run on this kind of processor. */
export function kvmPlatforms(architecture: string = process.arch): readonly string[] {
  return OWN_PLATFORMS[architecture] ?? [];
}

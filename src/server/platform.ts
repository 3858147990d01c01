/** Whether this program can run here; asked before any native code is loaded. */

/** The oldest minor of each major that the HTTP library ships binaries for: from there on zlib knows CRC-32. */
const OLDEST: Readonly<Record<number, number>> = { 20: 15, 22: 2 };
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/** The one line that tells what is missing; undefined when all is well. */
export function platformProblem(
  node: string = process.versions.node,
  platform = `${process.platform}-${process.arch}`,
): string | undefined {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (minor < (OLDEST[major] ?? Infinity)) {
    const known = Object.entries(OLDEST).map((version) => version.join('.'));
    return `Node.js ${node} is not supported: use ${known.join(' or later, or ')} or later`;
  }
  if (!PLATFORMS.includes(platform))
    return `the platform ${platform} is not supported: ${PLATFORMS.join(', ')} are`;
  return undefined;
}

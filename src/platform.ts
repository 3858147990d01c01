/** Whether this program can run here; asked before any native code is loaded. */

const OLDEST_NODE = [20, 12] as const;
/** The HTTP library ships binaries for these. */
const NODE_MAJORS = [20, 22];
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/** The one line that tells what is missing; undefined when all is well. */
export function platformProblem(
  node: string = process.versions.node,
  platform = `${process.platform}-${process.arch}`,
): string | undefined {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const isOld = major === OLDEST_NODE[0] && minor < OLDEST_NODE[1];
  if (!NODE_MAJORS.includes(major) || isOld) {
    return `Node.js ${node} is not supported: use ${OLDEST_NODE.join('.')} or later of 20, or 22`;
  }
  if (!PLATFORMS.includes(platform))
    return `the platform ${platform} is not supported: ${PLATFORMS.join(', ')} are`;
  return undefined;
}

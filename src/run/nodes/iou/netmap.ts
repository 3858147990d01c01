/** The file NETMAP, which tells an IOU image whom its ports are connected to: all of them to the bridge of its node. */

/** Image and bridge are this far apart; an image has numbers up to 511. */
const BRIDGE = 512;
const BAYS = 16;
const UNITS = 4;

/** The number of the bridge of an image. */
export function bridgeOf(applicationId: number): number {
  return applicationId + BRIDGE;
}

export function netmapOf(applicationId: number): string {
  const lines: string[] = [];
  for (let bay = 0; bay < BAYS; bay++) {
    for (let unit = 0; unit < UNITS; unit++) {
      lines.push(`${bridgeOf(applicationId)}:${bay}/${unit} ${applicationId}:${bay}/${unit}\n`);
    }
  }
  return lines.join('');
}

/** The names of the files in the folder of a Dynamips router. */

export const CONFIG_FOLDER = 'configs';
export const CONFIGS = ['startup', 'private'] as const;
export type ConfigName = (typeof CONFIGS)[number];

/** The path of a configuration of the router with this number, below the folder of the node. */
export function configPath(dynamipsId: number, config: ConfigName): string {
  return `${CONFIG_FOLDER}/${configName(dynamipsId, config)}`;
}

export function configName(dynamipsId: number, config: ConfigName): string {
  return `i${dynamipsId}_${config}-config.cfg`;
}

const HOSTNAME = /^hostname [^\r\n]*/m;

/** The configuration with this name of the router in it, where it has one. */
export function withHostname(config: string, name: string): string {
  return config.replace(HOSTNAME, () => `hostname ${hostname(name)}`);
}

/** A router of this name: IOS takes letters, digits and hyphens, which does not make a line of another command. */
export function hostname(name: string): string {
  return name.replaceAll(/\s/g, '-');
}
